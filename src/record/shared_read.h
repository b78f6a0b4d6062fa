#pragma once
// The owner's reads of shared records (I4, local form): TID word, state not x-locked, copy, state not x-locked, TID
// word unchanged. A local writer shows by the lock bit; another node that writes back shows only by the state, before
// and after its new TID. Each other order of these loads lets a half-written value through.
//
// And reads of a record of either kind. Which it is, a bit of its address tells.

#include <cstddef>
#include <cstdint>

#include "src/base/waiter.h"
#include "src/record/shared_record.h"
#include "src/record/stable_read.h"

namespace granary::record {

/// Like read_stable() and read_tid() of a local record. kBusy also if another node stayed there.
StableRead read_shared(const SharedRecord& record, std::size_t key_bytes, char* buffer, std::size_t room,
                       base::Waiter& waiter);
StableRead read_shared_tid(const SharedRecord& record, base::Waiter& waiter);

/// Like read_snapshot(), but gives up as kBusy after a bounded wait for another node: while the record is x-locked its
/// present version may be half overwritten. What is older than that is copied aside and never waits.
StableRead read_shared_snapshot(const SharedRecord& record, std::size_t key_bytes, std::uint64_t snapshot, char* buffer,
                                std::size_t room, base::Waiter& waiter);

inline StableRead read_record(const Record& record, std::size_t key_bytes, char* buffer, std::size_t room,
                              base::Waiter& waiter) {
  if (is_shared(&record)) [[unlikely]]
    return read_shared(shared_of(record), key_bytes, buffer, room, waiter);
  return read_stable(record, buffer, room, waiter);
}

inline StableRead read_record_tid(const Record& record, base::Waiter& waiter) {
  if (is_shared(&record)) [[unlikely]]
    return read_shared_tid(shared_of(record), waiter);
  return read_tid(record, waiter);
}

inline StableRead read_record_snapshot(const Record& record, std::size_t key_bytes, std::uint64_t snapshot,
                                       char* buffer, std::size_t room, base::Waiter& waiter) {
  if (is_shared(&record)) [[unlikely]]
    return read_shared_snapshot(shared_of(record), key_bytes, snapshot, buffer, room, waiter);
  return read_snapshot(record, snapshot, buffer, room, waiter);
}

}  // namespace granary::record
