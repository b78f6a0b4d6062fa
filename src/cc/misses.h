#pragma once
// These words tell when keys of this node's tables were last known to be missing, as those of node_times.h do, and lie where other nodes reach
// them: transactions of other nodes WRITE their times here, and READ those of everybody when they write a record for the first time.
//
// Each worker of each node has a line, which it alone writes: a worker of this node by an exchange, and one of another node by a one-sided WRITE
// in front of its READs of the leaves. Behind the lock of the record, a first writer here loads all lines, and one elsewhere READs them with E.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "src/base/cache_line.h"
#include "src/cc/node_times.h"

namespace granary::cc {

class Misses {
 public:
  /// A word stands for all tables whose number is the same modulo kTables.
  static constexpr std::uint32_t kTables = 8;
  struct alignas(base::kCacheLine) Line {
    std::array<std::atomic<record::TidWord>, kTables> greatest{};
  };
  static_assert(sizeof(Line) == base::kCacheLine && NodeTimes::kTables % kTables == 0);

  Misses() = default;
  /// `lines` lie in memory that other nodes reach, zeroed at first.
  explicit Misses(std::span<Line> lines) : lines_(lines) {}

  std::size_t size() const { return lines_.size(); }
  Line& line(std::size_t at) const { return lines_[at]; }

  /// Calls `use` with the number of each word that stands for one of the tables.
  template <typename Use>
  static void for_each(NodeTimes::Tables tables, const Use& use) {
    for (std::uint32_t word = 0; word < kTables; ++word) {
      constexpr NodeTimes::Tables kEvery = 0x01010101;  // bit 0 of every kTables
      if ((tables & kEvery << word) != 0) use(word);
    }
  }
  /// The worker whose line it is calls this before it looks at its leaves.
  static void raise(Line& line, NodeTimes::Tables tables, record::TidWord time) {
    for_each(tables, [&](std::uint32_t word) {
      if (line.greatest[word].load(std::memory_order_relaxed) < time)
        line.greatest[word].exchange(time, std::memory_order_seq_cst);
    });
  }
  record::TidWord greatest(std::uint32_t table) const {
    record::TidWord greatest = 0;
    for (const Line& line : lines_)
      greatest = std::max(greatest, line.greatest[table % kTables].load(std::memory_order_acquire));
    return greatest;
  }

 private:
  std::span<Line> lines_;
};

}  // namespace granary::cc
