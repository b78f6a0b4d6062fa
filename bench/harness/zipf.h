#pragma once
// Zipfian ranks as YCSB draws them: the algorithm of Gray et al., "Quickly generating billion-record
// synthetic databases" (SIGMOD 1994), figure 6. Rank 0 is the most popular. All constants are computed once;
// a generator is then read-only and shared by all workers.

#include <cmath>
#include <cstdint>

#include "src/base/random.h"

namespace granary::bench {

class Zipf {
 public:
  /// Ranks in [0, items), skew theta in [0, 1); 0 is uniform. Takes time linear in `items`.
  Zipf(std::uint64_t items, double theta) : items_(items), theta_(theta) {
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

  /// The same popularities, spread over the whole range: the rank's FNV-1a hash, as YCSB's scrambled zipfian. Unlike
  /// there, ranks are drawn from `items`, not from ten billion, so that theta means the same for both.
  std::uint64_t next_scrambled(base::Random& random) const {
    if (theta_ == 0) return random.below(items_);
    return fnv1a(next(random)) % items_;
  }

  /// Σ 1/i^theta for i = 1 … items.
  static double zeta(std::uint64_t items, double theta) {
    double sum = 0;
    for (std::uint64_t i = items; i >= 1; --i) sum += 1 / std::pow(static_cast<double>(i), theta);
    return sum;
  }

  static constexpr std::uint64_t fnv1a(std::uint64_t value) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (int byte = 0; byte < 8; ++byte, value >>= 8) hash = (hash ^ (value & 0xff)) * 0x100000001b3u;
    return hash;
  }

  std::uint64_t items() const { return items_; }
  double theta() const { return theta_; }

 private:
  std::uint64_t items_;
  double theta_;
  double zeta_ = 0, alpha_ = 0, second_ = 0, eta_ = 0;
};

}  // namespace granary::bench
