#pragma once
// Reads shared records at their owner (I4, local form). The order is: TID word, state not x-locked, copy, state not
// x-locked, TID word unchanged. A local writer is seen by the lock bit. Another node that writes back is seen only by
// the state, before and after it stores its new TID. Any other order of these loads lets a half-written value through.
//
// The functions read_record… read a record of either kind; a bit of its address tells which kind it is.

#include <cstddef>
#include <cstdint>

#include "src/base/waiter.h"
#include "src/record/shared_record.h"
#include "src/record/stable_read.h"

namespace granary::record {

/// Do for a shared record what read_stable() and read_tid() do for a local one. They return kBusy also if another node
/// held the record for the whole bounded wait.
StableRead read_shared(const SharedRecord& record, std::size_t key_bytes, char* buffer, std::size_t room,
                       base::Waiter& waiter);
StableRead read_shared_tid(const SharedRecord& record, base::Waiter& waiter);

/// Does for a shared record what read_snapshot() does for a local one, but gives up with kBusy after a bounded wait:
/// another node may hold the record for long, and meanwhile its present version may be half overwritten. Older versions
/// are copies that do not change, so reading one never waits.
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
