#pragma once
// What clients have said, and nothing else: by this what they left is judged.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/crash/ledger.h"

namespace granary::crash {

class Acknowledged {
 public:
  /// All lines of a client that has ended.
  void hear(const std::vector<std::string>& lines);

  /// The memory with the rings is gone: what has committed and was not released may be gone with it.
  void forget_unreleased() { committed_ = released_; }
  /// An opening has shown these counters: now they are durable.
  void settle(const std::array<std::uint64_t, kWorkers>& counters) { committed_ = released_ = most_ = counters; }
  /// Returns a text that says what these counters lack; "" if they lack nothing.
  std::string missing(const std::array<std::uint64_t, kWorkers>& counters) const;
  /// What is wrong with the counters that an opening shows; "" if nothing is.
  std::string judge(const std::array<std::uint64_t, kWorkers>& counters) const;

  /// Transactions that were released, of all clients together.
  std::uint64_t released() const;

 private:
  using Counters = std::array<std::uint64_t, kWorkers>;
  Counters committed_{}, released_{};  // must be there: with the rings, without them
  Counters most_{};                    // nobody has begun more than one transaction beyond these
};

/// The rest of the first line that begins so; nullptr if there is none.
const std::string* line_of(const std::vector<std::string>& lines, const std::string& beginning);

}  // namespace granary::crash
