#pragma once
// Has the seeds of a randomized test. `--seed=N` of any test program runs one seed alone:
//
//   for (const std::uint64_t seed : tests::seeds(150)) { ... }
//
// A failure prints the line that does so for the seed that is running (tests/main.cc).

#include <cstdint>
#include <optional>

namespace granary::tests {

/// The seed of --seed, if that was given.
inline std::optional<std::uint64_t> asked_seed;
/// The seed that is running, for the line that replays it. Written and read by the test's own thread.
inline std::optional<std::uint64_t> running_seed;

/// Whether all seeds run. If only one does, sums over all of them tell nothing.
inline bool all_seeds() { return !asked_seed.has_value(); }

class Seeds {
 public:
  class Iterator {
   public:
    explicit Iterator(std::uint64_t seed) : seed_(seed) {}
    std::uint64_t operator*() const {
      running_seed = seed_;
      return seed_;
    }
    Iterator& operator++() {
      running_seed.reset();
      ++seed_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::uint64_t seed_;
  };

  Seeds(std::uint64_t count, std::uint64_t first)
      : first_(asked_seed.value_or(first)),
        end_(first_ + (all_seeds() ? count : 1)) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }

 private:
  const std::uint64_t first_, end_;
};

/// Returns `count` seeds from `first` on, or the one of --seed, whether or not it is among these.
inline Seeds seeds(std::uint64_t count, std::uint64_t first = 1) { return {count, first}; }

}  // namespace granary::tests
