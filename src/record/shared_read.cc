#include "src/record/shared_read.h"

#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::record {
namespace {

using base::injected;

/// Copies the version whose unlocked TID word is `before`. Returns kBusy if another node holds the record, or if the
/// TID word has changed meanwhile.
StableRead try_copy(const SharedRecord& record, std::size_t key_bytes, TidWord before, char* buffer, std::size_t room) {
  if (is_x_locked(record.state())) return {};
  base::sync_point("read.looked");
  const auto size = static_cast<std::uint32_t>(record.head.size());
  const bool fits = size <= room;
  if (fits) base::copy_from_shared(buffer, value_words(record, key_bytes), size);
  base::sync_point("read.copied");
  if (is_x_locked(record.state()) && !injected("read-ignores-late-lock")) return {};
  if (record.head.tid() != before) return {};
  return {before, fits ? ReadState::kValue : ReadState::kTooSmall, size};
}

StableRead try_read_shared(const SharedRecord& record, std::size_t key_bytes, char* buffer, std::size_t room) {
  const TidWord before = record.head.tid();
  if (!is_latest(before)) return {before, ReadState::kReplaced};
  if (is_locked(before)) return {};
  if (is_absent(before)) return is_x_locked(record.state()) ? StableRead{} : StableRead{before, ReadState::kMissing};
  return try_copy(record, key_bytes, before, buffer, room);
}

/// Repeats the attempt until one is not kBusy or the bounded wait is over.
template <typename Attempt>
StableRead wait_for(base::Waiter& waiter, Attempt&& attempt) {
  StableRead seen = attempt();
  for (std::uint32_t turn = 0; seen.state == ReadState::kBusy && turn < base::kBoundedPauses; ++turn) {
    waiter.pause(turn);
    seen = attempt();
  }
  return seen;
}

}  // namespace

StableRead read_shared(const SharedRecord& record, std::size_t key_bytes, char* buffer, std::size_t room,
                       base::Waiter& waiter) {
  return wait_for(waiter, [&] { return try_read_shared(record, key_bytes, buffer, room); });
}

StableRead read_shared_tid(const SharedRecord& record, base::Waiter& waiter) {
  return wait_for(waiter, [&]() -> StableRead {
    const TidWord word = record.head.tid();
    if (!is_latest(word)) return {word, ReadState::kReplaced};
    if (is_locked(word) || is_x_locked(record.state())) return {};
    return {word, is_absent(word) ? ReadState::kMissing : ReadState::kValue};
  });
}

StableRead read_shared_snapshot(const SharedRecord& record, std::size_t key_bytes, std::uint64_t snapshot, char* buffer,
                                std::size_t room, base::Waiter& waiter) {
  return wait_for(waiter, [&]() -> StableRead {
    const TidWord before = record.head.tid();
    if (epoch_of(before) >= snapshot) return read_older(record.head, snapshot, buffer, room);
    if (is_locked(before)) return {};
    // The holder may write a version of an old epoch, if its write-back had to wait for a connection. The TID word is
    // loaded again since a holder stores it before it frees the state: both can have happened before the look at the
    // state.
    if (is_absent(before)) {
      const bool settled = !is_x_locked(record.state()) && record.head.tid() == before;
      return settled ? StableRead{before, ReadState::kMissing} : StableRead{};
    }
    return try_copy(record, key_bytes, before, buffer, room);
  });
}

}  // namespace granary::record
