#pragma once
// Zipfian ranks as YCSB draws them: the algorithm of Gray et al., "Quickly generating billion-record
// synthetic databases" (SIGMOD 1994), figure 6. Rank 0 is the most popular. All constants are computed once;
// a generator is then read-only and shared by all workers.

#include <cmath>
#include <cstdint>

#include "src/base/random.h"

namespace granary::bench {

/// A fixed order of the numbers below `items` that looks random: each number has a place of its own. A hash modulo
/// `items` is no such order, as it leaves out 37 % of the places.
///
/// A number is split into a row and a column of a table that is as near to a square as can be. Each of three steps
/// moves the row by an amount that depends on the column, or the other way round, which can be undone. The table has a
/// few more places than there are numbers; a number that comes to one of these moves on.
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t items)
      : items_(items),
        rows_(static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(items))))),
        columns_((items + rows_ - 1) / rows_) {}

  /// Precondition: `number` < items.
  std::uint64_t place_of(std::uint64_t number) const {
    do {
      number = moved(number);
    } while (number >= items_);
    return number;
  }

 private:
  std::uint64_t moved(std::uint64_t number) const {
    std::uint64_t row = number / columns_, column = number % columns_;
    row = wrapped(row + distance(column + 1, rows_), rows_);
    column = wrapped(column + distance(row + 0x9e3779b97f4a7c15u, columns_), columns_);
    row = wrapped(row + distance(column + 0xd1b54a32d192ed03u, rows_), rows_);
    return row * columns_ + column;
  }
  /// Returns a number below `bound` that depends on all bits of `word`.
  static std::uint64_t distance(std::uint64_t word, std::uint64_t bound) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(word * 0xbf58476d1ce4e5b9u) * bound >> 64);
  }
  static std::uint64_t wrapped(std::uint64_t number, std::uint64_t bound) {
    return number < bound ? number : number - bound;
  }

  std::uint64_t items_, rows_, columns_;
};

class Zipf {
 public:
  /// Makes ranks in [0, items) with skew theta in [0, 1); 0 is uniform. Takes time linear in `items`.
  Zipf(std::uint64_t items, double theta) : items_(items), theta_(theta), places_(items) {
    if (theta_ == 0) return;
    zeta_ = zeta(items, theta);
    alpha_ = 1 / (1 - theta);
    second_ = 1 + std::pow(0.5, theta);
    const double zeta_of_two = items < 2 ? zeta_ : second_;
    eta_ = items <= 2 ? 0 : (1 - std::pow(2.0 / static_cast<double>(items), 1 - theta)) / (1 - zeta_of_two / zeta_);
  }

  std::uint64_t next(base::Random& random) const {
    if (theta_ == 0) return random.below(items_);
    const double u = random.unit();
    const double uz = u * zeta_;
    if (uz < 1) return 0;
    if (uz < second_) return 1;
    const auto rank = static_cast<std::uint64_t>(static_cast<double>(items_) * std::pow(eta_ * u - eta_ + 1, alpha_));
    return rank < items_ ? rank : items_ - 1;
  }

  /// Draws with these popularities, spread over the whole range. YCSB's scrambled zipfian hashes a rank below ten
  /// billion; this gives each item a rank of its own, so that theta means the same for both.
  std::uint64_t next_scrambled(base::Random& random) const {
    if (theta_ == 0) return random.below(items_);
    return places_.place_of(next(random));
  }

  /// Returns Σ 1/i^theta for i = 1 … items.
  static double zeta(std::uint64_t items, double theta) {
    double sum = 0;
    for (std::uint64_t i = items; i >= 1; --i) sum += 1 / std::pow(static_cast<double>(i), theta);
    return sum;
  }

  std::uint64_t items() const { return items_; }
  double theta() const { return theta_; }

 private:
  std::uint64_t items_;
  double theta_;
  Shuffle places_;
  double zeta_ = 0, alpha_ = 0, second_ = 0, eta_ = 0;
};

}  // namespace granary::bench
