#include "src/record/stable_read.h"

#include "src/base/check.h"

namespace granary::record {
namespace {

StableRead copy_version(const Record& version, char* buffer, std::size_t room) {
  const TidWord tid = version.tid();
  if (is_absent(tid)) return {tid, ReadState::kMissing};
  const auto size = static_cast<std::uint32_t>(version.size());
  if (size > room) return {tid, ReadState::kTooSmall, size};
  base::copy_from_shared(buffer, version.value_words(), size);
  return {tid, ReadState::kValue, size};
}

}  // namespace

StableRead wait_and_read(const Record& record, char* buffer, std::size_t room, base::Waiter& waiter) {
  StableRead seen;
  for (std::uint32_t turn = 0; seen.state == ReadState::kBusy && turn < base::kBoundedPauses; ++turn) {
    waiter.pause(turn);
    seen = try_read(record, buffer, room);
  }
  return seen;
}

/// The head's `previous` was set before the head's TID was stored (the store releases, and the caller's load of the TID
/// acquires), or it belongs to an even newer version. In both cases every version that the snapshot needs is on the
/// chain, and none of them is freed yet (min se_w).
StableRead read_older(const Record& head, std::uint64_t snapshot, char* buffer, std::size_t room) {
  const Record* version = head.previous();
  while (version != nullptr && epoch_of(version->tid()) >= snapshot) {
    const Record* const older = version->previous();
    base::debug_invariant("I16", [&] { return older == nullptr || tid_of(older->tid()) <= tid_of(version->tid()); });
    version = older;
  }
  return version == nullptr ? StableRead{0, ReadState::kMissing} : copy_version(*version, buffer, room);
}

StableRead read_snapshot(const Record& head, std::uint64_t snapshot, char* buffer, std::size_t room,
                         base::Waiter& waiter) {
  for (std::uint32_t turn = 0;; ++turn) {
    const TidWord before = head.tid();
    if (epoch_of(before) >= snapshot) return read_older(head, snapshot, buffer, room);
    if (is_locked(before)) {
      // The holder commits in a newer epoch than that of any snapshot, so this snapshot needs the present version, or
      // the copy of it that the holder links.
      waiter.pause(turn);
      continue;
    }
    const StableRead read = copy_version(head, buffer, room);
    if (head.tid() == before) return read;
  }
}

}  // namespace granary::record
