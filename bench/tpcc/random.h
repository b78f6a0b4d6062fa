#pragma once
// Draws the random values of TPC-C (clauses 2.1.6, 4.3.2): non-uniform numbers, last names made of syllables, and
// texts.

#include <array>
#include <cstdint>
#include <string_view>

#include "bench/tpcc/schema.h"
#include "src/base/random.h"

namespace granary::bench::tpcc {

/// A source of random numbers that also determines how well the texts drawn from it compress.
class Random : public base::Random {
 public:
  /// Makes a source for which 1/`text_ratio` of the letters of each text are random. The others are the beginning of a
  /// passage that all texts share, so that LZ4 makes long texts about that much smaller. Precondition: text_ratio ≥ 1.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0, double text_ratio = 1)
      : base::Random(seed, stream),
        random_share_(1 / text_ratio) {}

  /// Returns how many letters of a text of this length are random.
  std::size_t random_letters_of(std::size_t length) const {
    return static_cast<std::size_t>(random_share_ * static_cast<double>(length) + 0.5);
  }

 private:
  double random_share_;
};

/// The constants C of NURand. Those for last names differ between loading and running by what clause 2.1.6.1
/// prescribes.
struct NurandConstants {
  std::uint32_t load_last_name = 0;
  std::uint32_t run_last_name = 0;
  std::uint32_t customer = 0;
  std::uint32_t item = 0;
};
NurandConstants draw_constants(Random& random);

/// Draws NURand(A, low, high) with the constant C.
inline std::uint32_t nurand(Random& random, std::uint32_t a, std::uint32_t c, std::uint32_t low, std::uint32_t high) {
  const auto one = static_cast<std::uint32_t>(random.below(a + 1));
  const auto other = static_cast<std::uint32_t>(low + random.below(high - low + 1));
  return ((one | other) + c) % (high - low + 1) + low;
}
inline std::uint32_t random_customer(Random& random, const NurandConstants& c, const Scale& scale) {
  return nurand(random, 1023, c.customer, 1, scale.customers);
}
inline std::uint32_t random_item(Random& random, const NurandConstants& c, const Scale& scale) {
  return nurand(random, 8191, c.item, 1, scale.items);
}
/// Draws the number of a last name, for last_name().
inline std::uint32_t random_name(Random& random, std::uint32_t c, const Scale& scale) {
  return nurand(random, 255, c, 0, scale.names() - 1);
}

/// Returns the last name of a number from 0 to 999: three syllables, one for each digit.
const Text<16>& last_name(std::uint32_t number);

/// Fills the text with `low` to `high` random letters and digits, or with `count` random digits.
void random_letters(Random& random, char* to, std::size_t room, std::size_t low, std::size_t high);
void random_digits(Random& random, char* to, std::size_t count);

template <std::size_t N>
void random_letters(Random& random, Text<N>& text, std::size_t low, std::size_t high) {
  random_letters(random, text.bytes, N, low, high);
}
/// Writes ORIGINAL at a random place of `text`.
void make_original(Random& random, char* text, std::size_t length);

void random_address(Random& random, Address& address);

}  // namespace granary::bench::tpcc
