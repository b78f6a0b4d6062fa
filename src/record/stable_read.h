#pragma once
// Reads records optimistically (Silo 4.5): the TID word, the value, and the TID word again.
//
// A writer holds the lock bit while it changes size and value, and publishes both with the release store of the new TID
// word. A reader that saw any word of a change sees, in its second load, at least the lock bit that was taken before
// (the acquire loads of shared_words.h keep the order), so equal unlocked TID words around the copy mean that the copy
// is one version (I4, local form). A commit in an HTM region sets no lock bit. Its stores, the new TID word among them,
// take effect at one moment, so a reader that saw any of them sees the new TID word in its second load.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/base/shared_parts.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/base/waiter.h"
#include "src/record/record.h"

namespace granary::record {

enum class ReadState : std::uint32_t {
  kValue,     ///< the value was copied
  kMissing,   ///< the record is absent: deleted, or not born yet
  kReplaced,  ///< the record is no longer the latest of its key, which has to be looked up again
  kBusy,      ///< the record stayed locked for the whole bounded wait
  kTooSmall,  ///< the buffer is smaller than the value; nothing was copied
};

/// The result of a read. It has two words, so that it is returned in registers.
struct StableRead {
  TidWord tid = 0;  ///< the version that was seen, unlocked; valid unless kBusy
  ReadState state = ReadState::kBusy;
  std::uint32_t size = 0;  ///< the value's bytes, if kValue or kTooSmall
};

/// Makes one attempt to read the record; kBusy if a writer was there.
inline StableRead try_read(const Record& record, char* buffer, std::size_t room) {
  if (base::injected("read-data-before-version")) {
    base::copy_from_shared(buffer, record.value_words(), record.size() < room ? record.size() : room);
    base::sync_point("read.copied");
  }
  const TidWord before = record.tid();
  if (is_locked(before)) [[unlikely]]
    return {};
  if (!is_latest(before)) [[unlikely]]
    return {before, ReadState::kReplaced};
  if (is_absent(before)) [[unlikely]]
    return {before, ReadState::kMissing};
  const auto size = static_cast<std::uint32_t>(record.size());
  const bool fits = size <= room;
  if (fits && !base::injected("read-data-before-version")) {
    std::size_t copied = size;
    if (base::injected("half-copy") && copied > base::kCacheLine) copied = base::kCacheLine;
    base::copy_from_shared(buffer, record.value_words(), copied);
    base::sync_point("read.copied");
  }
  if (record.tid() != before && !base::injected("read-data-before-version")) [[unlikely]]
    return {};
  return {before, fits ? ReadState::kValue : ReadState::kTooSmall, size};
}

/// Makes further attempts, each after a pause, until one is not kBusy or the bounded wait is over.
StableRead wait_and_read(const Record& record, char* buffer, std::size_t room, base::Waiter& waiter);

/// Copies at most `room` bytes to `buffer`; waits a bounded while for writers.
inline StableRead read_stable(const Record& record, char* buffer, std::size_t room, base::Waiter& waiter) {
  const StableRead seen = try_read(record, buffer, room);
  return seen.state != ReadState::kBusy ? seen : wait_and_read(record, buffer, room, waiter);
}

/// Copies at most `room` bytes, from the value's byte `from` on; waits a bounded while for writers. The size that it
/// tells is the whole value's, and it is never kTooSmall.
///
/// `at_version(tid)` is called between the two looks at the TID word, so that all that it loads belongs to the version
/// that is read. If the record changes meanwhile, it is called again with the next version.
template <typename AtVersion>
StableRead read_part(const Record& record, std::size_t from, char* buffer, std::size_t room, base::Waiter& waiter,
                     const AtVersion& at_version) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const TidWord before = record.tid();
    if (is_locked(before)) [[unlikely]] {
      waiter.pause(turn);
      continue;
    }
    if (!is_latest(before)) [[unlikely]]
      return {before, ReadState::kReplaced};
    at_version(before);
    if (is_absent(before)) [[unlikely]] {
      if (record.tid() == before) return {before, ReadState::kMissing};
      continue;
    }
    const std::size_t size = record.size();
    if (from < size) {
      base::copy_part_from_shared(buffer, record.value_words(), from, std::min(room, size - from));
      base::sync_point("read.copied");
    }
    if (record.tid() == before || base::injected("part-without-second-look")) [[likely]]
      return {before, ReadState::kValue, static_cast<std::uint32_t>(size)};
  }
  return {};
}

/// Reads the record's present version without its value; waits a bounded while for writers.
inline StableRead read_tid(const Record& record, base::Waiter& waiter) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const TidWord word = record.tid();
    if (is_locked(word)) [[unlikely]] {
      waiter.pause(turn);
      continue;
    }
    if (!is_latest(word)) return {word, ReadState::kReplaced};
    return {word, is_absent(word) ? ReadState::kMissing : ReadState::kValue};
  }
  return {};
}

/// Copies the newest version before `head` with epoch < snapshot. Precondition: the epoch of `head` is not less than
/// the snapshot. Never waits: versions on the chain do not change once linked.
StableRead read_older(const Record& head, std::uint64_t snapshot, char* buffer, std::size_t room);

/// Copies the version that a snapshot at `snapshot` sees: the newest with epoch < snapshot (Silo 4.9). Walks the chain
/// of old versions, which never change once linked. Waits out a writer however long it takes; never kBusy or kReplaced.
/// If the writer is a transaction of the same thread, the waiter has to let it go on: bodies that take turns use one
/// worker, whose waiter does (Worker::run_together).
StableRead read_snapshot(const Record& head, std::uint64_t snapshot, char* buffer, std::size_t room,
                         base::Waiter& waiter);
/// Copies a part of that version, as read_part() does.
StableRead read_snapshot_part(const Record& head, std::uint64_t snapshot, std::size_t from, char* buffer,
                              std::size_t room, base::Waiter& waiter);

}  // namespace granary::record
