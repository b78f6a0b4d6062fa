#pragma once
// Generates pseudo-random numbers, small and fast: xoshiro256++ (Blackman, Vigna 2019), seeded through splitmix64 so
// that neighbouring seeds give unrelated streams. Every source of chance in Granary is seeded and passed, never global.

#include <bit>
#include <cstdint>
#include <limits>

namespace granary::base {

/// Takes one step of splitmix64, which is also a good 64-bit mixing function of `state`.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A generator that also works with <random> and std::shuffle (UniformRandomBitGenerator).
class Random {
 public:
  using result_type = std::uint64_t;

  /// Streams of one seed (workers, loaders, ...) are independent of each other.
  explicit constexpr Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t mixed_stream = stream ^ 0x5851f42d4c957f2du;
    std::uint64_t state = seed ^ splitmix64(mixed_stream);
    for (std::uint64_t& word : state_) word = splitmix64(state);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Returns a number that is uniform in [0, bound), without modulo bias (Lemire 2019). Precondition: bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) [[unlikely]] {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = static_cast<unsigned __int128>(next()) * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Returns a number that is uniform in [low, high], both ends included. Precondition: low ≤ high.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = span == std::numeric_limits<std::uint64_t>::max() ? next() : below(span + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  /// Returns a number that is uniform in [0, 1), with all 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// Returns true with this probability.
  constexpr bool chance(double probability) { return unit() < probability; }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  constexpr result_type operator()() { return next(); }

 private:
  std::uint64_t state_[4];
};

}  // namespace granary::base
