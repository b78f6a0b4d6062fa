#pragma once
// The timestamp history of TicToc (SIGMOD 2016, section 5.3): when versions that have been overwritten lately ended. A transaction that has read
// one, and is serial before that time, may commit.
//
// One table serves all records, so records stay as small as they are. It is a memory of facts, and may forget any of them: a slot keeps the
// last version that fell on it, and a writer that finds another one there goes on without.
//
// Order of a slot: a writer makes its sequence odd by compare-and-swap, stores the words, and makes it even; a reader loads the sequence
// before the words and behind them, and believes them if it was even and is the same.

#include <cstdint>
#include <memory>

#include "src/base/shared_words.h"
#include "src/record/record.h"

namespace granary::cc::tictoc {

class VersionEnds {
 public:
  VersionEnds() : slots_(std::make_unique<Slot[]>(kSlots)) {}

  /// Notes that the record had the version with this TID until `end`, at which another one came.
  void note(const record::Record* record, record::TidWord tid, record::TidWord end) {
    Slot& slot = slot_of(record, tid);
    const std::uint64_t sequence = base::load_word(&slot.sequence);
    if (sequence % 2 != 0 || !base::compare_exchange_word(&slot.sequence, sequence, sequence + 1)) return;
    base::store_word(&slot.record, reinterpret_cast<std::uint64_t>(record));
    base::store_word(&slot.tid, tid);
    base::store_word(&slot.end, end);
    base::store_word(&slot.sequence, sequence + 2);
  }

  /// When the version ended; 0 if that is not known.
  record::TidWord end_of(const record::Record* record, record::TidWord tid) const {
    const Slot& slot = slot_of(record, tid);
    const std::uint64_t sequence = base::load_word(&slot.sequence);
    if (sequence % 2 != 0 || base::load_word(&slot.record) != reinterpret_cast<std::uint64_t>(record) ||
        base::load_word(&slot.tid) != tid) {
      return 0;
    }
    const record::TidWord end = base::load_word(&slot.end);
    return base::load_word(&slot.sequence) == sequence ? end : 0;
  }

 private:
  struct alignas(32) Slot {
    std::uint64_t sequence = 0, record = 0, tid = 0, end = 0;
  };
  static constexpr std::size_t kSlots = 4096;

  Slot& slot_of(const record::Record* record, record::TidWord tid) const {
    const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(record) ^ tid) * 0x9E3779B97F4A7C15ull;
    return slots_[mixed >> 52];
  }

  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace granary::cc::tictoc
