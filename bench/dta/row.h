#pragma once
// A row of the DTA baseline: one version of a value, when it was written and read, and which sessions read it. It lies
// in the value of a bare record, so that index and memory are those of the engine.
//
// Invariant: a transaction that replaces a version finds among the row's readers every transaction that has copied the
// version and has not ended. Reader and writer each write one word and then load the other's: a reader registers, then
// loads the wts; a writer marks the wts, then loads the readers. All four are seq_cst, so they have one order, and at
// least one of the two sees the other. Either the writer finds the reader, or the reader finds the mark (or the next
// version's wts) and its copy fails.

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>

#include "bench/dta/interval.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::bench::dta {

class Row {
 public:
  /// A row knows its readers by the numbers of their sessions, one bit each.
  static constexpr std::uint32_t kSessions = 320;

  static std::size_t bytes_for(std::size_t value_bytes) { return sizeof(Row) + base::round_up_to_word(value_bytes); }
  /// Makes a row that nobody has read, written at time 0, in memory of bytes_for() bytes.
  static void make(std::span<char> memory, std::string_view value) {
    std::memset(memory.data(), 0, memory.size());
    const Row* const row = new (memory.data()) Row;
    std::memcpy(const_cast<char*>(row->newest_value(value.size())), value.data(), value.size());
  }
  /// Returns the value. Precondition: no transaction replaces it.
  const char* newest_value(std::size_t) const { return reinterpret_cast<const char*>(this + 1); }

  // --- for readers, at any time ---

  /// Notes that the session's transaction reads the row.
  void add_reader(std::uint32_t session) {
    readers_[session / kBits].fetch_or(bit_of(session), std::memory_order_seq_cst);  // as the invariant above needs
  }
  /// Notes that it has ended. Release: a thread that finds the session gone, in the critical section, sees what it did
  /// there.
  void remove_reader(std::uint32_t session) {
    readers_[session / kBits].fetch_and(~bit_of(session), std::memory_order_release);
  }
  /// Whether a committed transaction is storing a new value. Acquire: a thread that finds it done may store the next
  /// one.
  bool being_replaced() const { return (wts_.load(std::memory_order_acquire) & kReplacing) != 0; }
  /// Copies the value and returns when it was written; returns nothing if it is being replaced. Precondition:
  /// add_reader().
  std::optional<Timestamp> copy(std::span<char> buffer) const {
    const Timestamp before = wts_.load(std::memory_order_seq_cst);  // after add_reader(), as the invariant needs
    if ((before & kReplacing) != 0) return std::nullopt;
    base::sync_point("dta.copying");
    base::copy_from_shared(buffer.data(), words(), buffer.size());
    // The copy's loads acquire, so this load stays after them and can be relaxed. If one of them has found a word of
    // the next version, this load finds the mark, which was set before that word was stored, or a later wts.
    const bool whole = wts_.load(std::memory_order_relaxed) == before || base::injected("dta-copy-unchecked");
    return whole ? std::optional(before) : std::nullopt;
  }

  // --- for the thread in the critical section ---

  /// Returns when the version was written. Precondition: !being_replaced(), whose load has acquired the last
  /// replacement. Relaxed: a new replacement begins only in the critical section, so nobody changes the wts now.
  Timestamp wts() const { return wts_.load(std::memory_order_relaxed); }
  /// Returns the latest time of a committed transaction that has read any version of it.
  Timestamp rts() const { return rts_; }
  void raise_rts(Timestamp time) { rts_ = std::max(rts_, time); }
  /// Marks the version as ending at this time. Precondition: !being_replaced(). It is an exchange and no store, because
  /// an exchange also acquires: the words of the new value, which copy() must not find without the mark, are stored
  /// after it.
  void begin_replacing(Timestamp time) { wts_.exchange(time | kReplacing, std::memory_order_seq_cst); }
  /// Calls `visit(session)` for each reader. To be called after begin_replacing(); seq_cst, as the invariant needs.
  template <typename Visit>
  void for_each_reader(Visit&& visit) const {
    for (std::uint32_t word = 0; word < readers_.size(); ++word) {
      for (auto bits = readers_[word].load(std::memory_order_seq_cst); bits != 0; bits &= bits - 1)
        visit(word * kBits + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }

  // --- for the thread that has called begin_replacing(), outside of the critical section ---

  /// Stores the new value and then its time, which ends the replacement. Release: a thread that finds this time, in
  /// being_replaced() or copy(), finds the value.
  void replace(std::string_view value, Timestamp time) {
    base::copy_to_shared(words(), value.data(), value.size());
    wts_.store(time, std::memory_order_release);
  }

 private:
  static constexpr Timestamp kReplacing = Timestamp{1} << 63;
  static constexpr std::uint32_t kBits = 64;

  static constexpr std::uint64_t bit_of(std::uint32_t session) { return std::uint64_t{1} << session % kBits; }
  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  const std::uint64_t* words() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }

  // When the version was written; while the next value is being stored, the time of that one with kReplacing. Written
  // in the critical section and by the thread that replaces the value; read by all.
  std::atomic<Timestamp> wts_{0};
  Timestamp rts_ = 0;  // guarded by the critical section
  // A bit for each session that reads the row. Sessions set and clear their own; the critical section reads them.
  std::array<std::atomic<std::uint64_t>, kSessions / kBits> readers_{};
};
static_assert(sizeof(Row) % base::kWord == 0, "the value behind a row begins with a word");

}  // namespace granary::bench::dta
