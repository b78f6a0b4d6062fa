#pragma once
// Has the loads and stores of single records inside an HTM region (I6), written over the region's `memory`
// (htm/region.h). Used by commits in a region (region/region.h) and by transactions that run in one (drtm/).

#include <cstring>
#include <string_view>

#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/record/shared_change.h"
#include "src/record/shared_lock.h"

namespace granary::cc::silo {

// Two functions read a shared record's state word in a region. Everything that a region loads is of one moment, so the
// orders of I2 and I4 do not matter here. Another node that takes the record while the region runs changes the state
// word, and so makes the region abort.

/// Whether another node holds the record's x-lock.
template <typename Memory>
bool x_locked_in(Memory& memory, const Record* record) {
  return record::is_shared(record) && record::is_x_locked(memory.load(&record::shared_of(*record).state_word));
}
/// Whether the owner may change the record (record::OwnerRule). Always true of a local record.
template <typename Memory>
bool free_for_owner_in(Memory& memory, const Record* record, const base::SoftTime* time) {
  if (!record::is_shared(record) || base::injected("owner-ignores-state")) return true;
  const record::StateWord state = memory.load(&record::shared_of(*record).state_word);
  return record::OwnerRule::with_leases(time).allows_in(memory, state);
}

template <typename Memory>
void store_value(Memory& memory, std::uint64_t* to, std::string_view value) {
  while (!value.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(value.size(), base::kWord);
    std::memcpy(&word, value.data(), bytes);
    memory.store(to++, word);
    value.remove_prefix(bytes);
  }
}

template <typename Memory>
void store_tail_in_region(Memory& memory, record::SharedRecord& record, TidWord tid, std::size_t size,
                          std::uint32_t content) {
  const record::TailWords before{memory.load(&record.head.size_word), memory.load(&record.check_word)};
  const record::TailWords after = record::tail_of(before, tid, size, content);
  memory.store(&record.head.size_word, after.size_word);
  memory.store(&record.check_word, after.check_word);
}

template <typename Memory>
void install_in(Memory& memory, const WriteEntry& write, TidWord new_word) {
  Record& record = *write.record;
  const std::string_view value = write.remove ? std::string_view() : write.value;
  if (write.version != nullptr) memory.store(&record.previous_word, reinterpret_cast<std::uint64_t>(write.version));
  if (record::is_shared(&record)) [[unlikely]] {
    store_tail_in_region(memory, record::shared_of(record), new_word, value.size(), write.content);
  } else {
    memory.store(&record.size_word, (memory.load(&record.size_word) & ~record::kSizeMask) | value.size());
  }
  store_value(memory, record::value_words(record, write.key.size()), value);
  memory.store(&record.tid_word, new_word);
}

}  // namespace granary::cc::silo
