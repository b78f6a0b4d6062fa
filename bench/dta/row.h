#pragma once
// A row of the DTA baseline: one version of a value, when it was written and read, and who is reading it. It lies in
// the value of a bare record, so that index and memory are those of the engine.
//
// Keeps true: a transaction that has copied a version, and has not ended, is among the readers that whoever replaces
// that version finds. Reader and writer each write one word and then load the other's: a reader registers, then loads
// the wts; a writer marks the wts, then loads the readers. All four are seq_cst, so they have one order, and at least
// one of the two sees the other: the writer finds the reader, or the reader finds the mark (or the version behind it)
// and does not have the version that is replaced.

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
    readers_[session / kBits].fetch_or(bit_of(session), std::memory_order_seq_cst);  // with begin_replacing(), above
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
    const Timestamp before = wts_.load(std::memory_order_seq_cst);  // behind add_reader(), above
    if ((before & kReplacing) != 0) return std::nullopt;
    base::sync_point("dta.copying");
    base::copy_from_shared(buffer.data(), words(), buffer.size());
    // The copy's loads acquire. If one of them found a new word, this load finds the mark that was set before, or what
    // followed.
    const bool whole = wts_.load(std::memory_order_relaxed) == before || base::injected("dta-copy-unchecked");
    return whole ? std::optional(before) : std::nullopt;
  }

  // --- for who is in the critical section ---

  /// When the version was written. Only the critical section and who replaces the row change it; precondition:
  /// !being_replaced().
  Timestamp wts() const { return wts_.load(std::memory_order_relaxed); }
  /// Returns the latest time of a committed transaction that has read any version of it.
  Timestamp rts() const { return rts_; }
  void raise_rts(Timestamp time) { rts_ = std::max(rts_, time); }
  /// Says that the version ends at this time. An exchange instead of a store, as that acquires, too: the new value's
  /// words are stored behind it. Precondition: !being_replaced().
  void begin_replacing(Timestamp time) { wts_.exchange(time | kReplacing, std::memory_order_seq_cst); }
  /// Calls `visit(session)` for each reader. Behind begin_replacing().
  template <typename Visit>
  void for_each_reader(Visit&& visit) const {
    for (std::uint32_t word = 0; word < readers_.size(); ++word) {
      for (auto bits = readers_[word].load(std::memory_order_seq_cst); bits != 0; bits &= bits - 1)
        visit(word * kBits + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }

  // --- for who has called begin_replacing(), outside of the critical section ---

  void replace(std::string_view value, Timestamp time) {
    base::copy_to_shared(words(), value.data(), value.size());
    wts_.store(time, std::memory_order_release);  // with being_replaced() and copy(): who finds this time has the value
  }

 private:
  static constexpr Timestamp kReplacing = Timestamp{1} << 63;
  static constexpr std::uint32_t kBits = 64;

  static constexpr std::uint64_t bit_of(std::uint32_t session) { return std::uint64_t{1} << session % kBits; }
  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  const std::uint64_t* words() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }

  std::atomic<Timestamp> wts_{0};  // with kReplacing while the value is being stored
  Timestamp rts_ = 0;              // guarded by the critical section
  std::array<std::atomic<std::uint64_t>, kSessions / kBits> readers_{};
};
static_assert(sizeof(Row) % base::kWord == 0, "the value behind a row begins with a word");

}  // namespace granary::bench::dta
