#pragma once
// Keeps the timestamp history of TicToc (SIGMOD 2016, section 5.3; Options::tictoc_history): when versions ended that
// have been overwritten lately. A transaction that has read such a version may commit if its time is before that end.
//
// The paper keeps the history in each record. Here one hash table serves all records, so that records stay small. It
// may forget any entry: a slot keeps only the last version that was hashed to it, and a writer that finds another
// writer at the slot notes nothing.
//
// Order: any worker writes a slot, and all workers read it. A writer makes the slot's sequence odd by compare-and-swap,
// stores the words, and makes the sequence even; all are release stores. A reader loads the sequence, the words, and
// the sequence again, all with acquire, and believes the words if the sequence was even and has not changed.

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

  /// Returns when the version ended; 0 if that is not known.
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
