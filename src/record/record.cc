#include "src/record/stable_read.h"

#include "src/base/check.h"

namespace granary::record {
namespace {

// whole_into() and part_into() return functions that copy a value, or a part of it. `copy(value, size)` also returns
// the state of the read.

auto whole_into(char* buffer, std::size_t room) {
  return [=](const std::uint64_t* value, std::size_t size) {
    if (size > room) return ReadState::kTooSmall;
    base::copy_from_shared(buffer, value, size);
    return ReadState::kValue;
  };
}
auto part_into(char* buffer, std::size_t room, std::size_t from) {
  return [=](const std::uint64_t* value, std::size_t size) {
    if (from < size) base::copy_part_from_shared(buffer, value, from, std::min(room, size - from));
    return ReadState::kValue;
  };
}

template <typename Copy>
StableRead copy_version(const Record& version, const Copy& copy) {
  const TidWord tid = version.tid();
  if (is_absent(tid)) return {tid, ReadState::kMissing};
  const auto size = static_cast<std::uint32_t>(version.size());
  return {tid, copy(version.value_words(), size), size};
}

/// The head's `previous` was set before the head's TID was stored (the store releases, and the caller's load of the TID
/// acquires), or it belongs to an even newer version. In both cases every version that the snapshot needs is on the
/// chain, and none of them is freed yet (min se_w).
template <typename Copy>
StableRead find_older(const Record& head, std::uint64_t snapshot, const Copy& copy) {
  const Record* version = head.previous();
  while (version != nullptr && epoch_of(version->tid()) >= snapshot) {
    const Record* const older = version->previous();
    base::debug_invariant("I16", [&] { return older == nullptr || tid_of(older->tid()) <= tid_of(version->tid()); });
    version = older;
  }
  return version == nullptr ? StableRead{0, ReadState::kMissing} : copy_version(*version, copy);
}

template <typename Copy>
StableRead find_version(const Record& head, std::uint64_t snapshot, base::Waiter& waiter, const Copy& copy) {
  for (std::uint32_t turn = 0;; ++turn) {
    const TidWord before = head.tid();
    if (epoch_of(before) >= snapshot) return find_older(head, snapshot, copy);
    if (is_locked(before)) {
      // The holder commits in a newer epoch than that of any snapshot, so this snapshot needs the present version, or
      // the copy of it that the holder links.
      waiter.pause(turn);
      continue;
    }
    const StableRead read = copy_version(head, copy);
    if (head.tid() == before) return read;
  }
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

StableRead read_older(const Record& head, std::uint64_t snapshot, char* buffer, std::size_t room) {
  return find_older(head, snapshot, whole_into(buffer, room));
}

StableRead read_snapshot(const Record& head, std::uint64_t snapshot, char* buffer, std::size_t room,
                         base::Waiter& waiter) {
  return find_version(head, snapshot, waiter, whole_into(buffer, room));
}

StableRead read_snapshot_part(const Record& head, std::uint64_t snapshot, std::size_t from, char* buffer,
                              std::size_t room, base::Waiter& waiter) {
  return find_version(head, snapshot, waiter, part_into(buffer, room, from));
}

}  // namespace granary::record
