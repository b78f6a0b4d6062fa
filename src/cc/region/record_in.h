#pragma once
// Has the steps of a commit in an HTM region for single records (I6), as far as protocols share them: the plan before
// the region, and the checks and stores inside it, written over the region's `memory` (htm/region.h). The protocols
// silo and tictoc build their steps of these (protocol.h), and so do transactions that run in a region (drtm/).

#include <algorithm>
#include <cstring>
#include <string_view>

#include "htm/attempt.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/cc/region/region_code.h"
#include "src/record/shared_change.h"
#include "src/record/shared_lock.h"

namespace granary::cc {

/// Notes in `planned` the TID word of the record to write. Returns false if a region would abort, since the record is
/// locked, or not the latest, or the rule does not let the owner change it.
inline bool plan_write(const WriteEntry& write, const record::OwnerRule& rule, TidWord& planned) {
  planned = write.record->tid();
  if (record::is_locked(planned) || !record::is_latest(planned)) return false;
  return !record::is_shared(write.record) || rule.allows(record::shared_of(*write.record).state());
}

// --- inside the region ---

// Two functions read a shared record's state word in a region. Everything that a region loads is of one moment, so the
// orders of I2 and I4 do not matter here. Another node that takes the record while the region runs changes the state
// word, and so makes the region abort.

/// Whether another node holds the record's x-lock.
template <typename Memory>
bool x_locked_in(Memory& memory, const Record* record) {
  return record::is_shared(record) && record::is_x_locked(memory.load(&record::shared_of(*record).state_word));
}
/// Whether the owner may change the record by the rule. Always true of a local record.
template <typename Memory>
bool free_for_owner_in(Memory& memory, const Record* record, const record::OwnerRule& rule) {
  if (!record::is_shared(record) || base::injected("owner-ignores-state")) return true;
  return rule.allows_in(memory, memory.load(&record::shared_of(*record).state_word));
}

/// Checks that a record still has the version that was read, and that nobody has claimed or x-locked it.
template <typename Memory>
htm::Verdict check_version_in(Memory& memory, const ReadEntry& read) {
  if (x_locked_in(memory, read.record)) [[unlikely]]
    return retry(RegionCode::kReadLocked);
  const TidWord word = memory.load(&read.record->tid_word);
  if (word == read.tid || base::injected("skip-read-validation")) [[likely]]
    return htm::Verdict::done();
  if (record::unlocked(word) != read.tid) return give_up(RegionCode::kReadChanged);
  return base::injected("skip-own-lock-check") ? htm::Verdict::done() : retry(RegionCode::kReadLocked);
}

/// Checks that a record to write still has the planned TID word, and that the rule lets the owner change it.
template <typename Memory>
htm::Verdict check_plan_in(Memory& memory, const WriteEntry& write, TidWord planned, const record::OwnerRule& rule) {
  if (!free_for_owner_in(memory, write.record, rule)) [[unlikely]]
    return retry(RegionCode::kWriteLocked);
  const TidWord word = memory.load(&write.record->tid_word);
  if (word == planned || base::injected("region-overwrites-unseen")) [[likely]]
    return htm::Verdict::done();
  return record::is_locked(word) ? retry(RegionCode::kWriteLocked) : give_up(RegionCode::kPlanOutdated);
}

template <typename Memory>
void store_value_in(Memory& memory, std::uint64_t* to, std::string_view value) {
  while (!value.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(value.size(), base::kWord);
    std::memcpy(&word, value.data(), bytes);
    memory.store(to++, word);
    value.remove_prefix(bytes);
  }
}

template <typename Memory>
void store_tail_in(Memory& memory, record::SharedRecord& record, TidWord tid, std::size_t size, std::uint32_t content) {
  const record::TailWords before{memory.load(&record.head.size_word), memory.load(&record.check_word)};
  const record::TailWords after = record::tail_of(before, tid, size, content);
  memory.store(&record.head.size_word, after.size_word);
  memory.store(&record.check_word, after.check_word);
}

/// Stores the new version in the place of the planned one. What is above the size of a local record stays.
template <typename Memory>
void store_version_in(Memory& memory, const WriteEntry& write, TidWord planned, TidWord tid) {
  base::debug_invariant("I15", [&] { return memory.load(&write.record->tid_word) == planned; });
  base::debug_invariant("I33", [&] { return !write.is_part(); });  // where there are regions, values are written whole
  const TidWord new_word = installed_word(write, planned, tid);
  Record& record = *write.record;
  const std::string_view value = write.remove ? std::string_view() : write.value;
  if (write.version != nullptr) memory.store(&record.previous_word, reinterpret_cast<std::uint64_t>(write.version));
  if (record::is_shared(&record)) [[unlikely]] {
    store_tail_in(memory, record::shared_of(record), new_word, value.size(), write.content);
  } else {
    memory.store(&record.size_word, (memory.load(&record.size_word) & ~record::kSizeMask) | value.size());
  }
  store_value_in(memory, record::value_words(record, write.key.size()), value);
  memory.store(&record.tid_word, new_word);
}

}  // namespace granary::cc
