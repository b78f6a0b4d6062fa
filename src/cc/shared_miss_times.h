#pragma once
// Keeps TicToc's times of missed keys for shared tables: when keys of this node's tables were last known to be missing.
// They are what miss_times.h has for a node alone, in memory that other nodes reach one-sided (after the control
// block).
//
// Writers: each worker of each node has a line in the memory of every node, and only that worker writes it. A worker
// of this node raises its line by an exchange before it looks at its leaves. The last line belongs to all workers of
// this node that reach no other nodes (Cluster::database()), and they raise it by compare-and-swap. A worker of another
// node WRITEs its line in front of its READs of the leaves' versions (src/cluster/transaction/read_checks.cc).
//
// Readers: a transaction that writes a record for the first time, after it has locked the record. At this node it loads
// all lines (acquire); at another node it READs them with E after its x-lock. So, as in miss_times.h, either the first
// writer sees the time, or the worker sees that the leaf has changed.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "src/base/cache_line.h"
#include "src/cc/miss_times.h"

namespace granary::cc {

class SharedMissTimes {
 public:
  /// Each word of a line stands for all tables whose numbers are equal modulo kTables.
  static constexpr std::uint32_t kTables = 8;
  struct alignas(base::kCacheLine) Line {
    std::array<std::atomic<record::TidWord>, kTables> greatest{};
  };
  static_assert(sizeof(Line) == base::kCacheLine && MissTimes::kTables % kTables == 0);

  SharedMissTimes() = default;
  /// `lines` lie in memory that other nodes reach, and are zeros at first.
  explicit SharedMissTimes(std::span<Line> lines) : lines_(lines) {}

  /// Returns how many lines the memory of each node has if all nodes together have so many workers that reach other
  /// nodes.
  static constexpr std::size_t lines_for(std::size_t workers) { return workers + 1; }

  std::size_t size() const { return lines_.size(); }
  Line& line(std::size_t at) const { return lines_[at]; }
  /// Returns the line of all workers of this node that have no line of their own.
  Line& shared_line() const { return lines_.back(); }

  /// Calls `use` with the number of each word that stands for one of the tables.
  template <typename Use>
  static void for_each(MissTimes::Tables tables, const Use& use) {
    for (std::uint32_t word = 0; word < kTables; ++word) {
      constexpr MissTimes::Tables kEvery = 0x01010101;  // bit 0 of every kTables
      if ((tables & kEvery << word) != 0) use(word);
    }
  }
  /// Raises the line's words of these tables to `time`. Called by the worker whose line it is, before it looks at its
  /// leaves.
  static void raise(Line& line, MissTimes::Tables tables, record::TidWord time) {
    for_each(tables, [&](std::uint32_t word) {
      if (line.greatest[word].load(std::memory_order_relaxed) < time)
        line.greatest[word].exchange(time, std::memory_order_seq_cst);
    });
  }
  /// Raises the words of a line that several workers share, as raise() does. Where nothing has to be raised, the load
  /// is an acquire: the worker that has raised the word did so before this worker looks at its leaves.
  static void raise_shared(Line& line, MissTimes::Tables tables, record::TidWord time) {
    for_each(tables, [&](std::uint32_t word) {
      record::TidWord told = line.greatest[word].load(std::memory_order_acquire);
      while (told < time && !line.greatest[word].compare_exchange_weak(told, time, std::memory_order_seq_cst,
                                                                       std::memory_order_acquire)) {
      }
    });
  }
  /// Returns the greatest time that any worker has told for the table. The caller has locked the record.
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
