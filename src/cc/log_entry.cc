#include "src/cc/log_entry.h"

#include <cstring>

#include "src/base/shared_parts.h"
#include "src/base/test_hooks.h"

namespace granary::cc {
namespace {

using log::EntryHeader;
using log::EntryKind;
using log::WriteHeader;

std::size_t body_bytes(const LoggedWrites& writes, const WorkerState& worker) {
  if (worker.shared.settings.small_log_records) return 0;
  std::size_t bytes = 0;
  for (const WriteEntry& write : writes.here) {
    bytes += write.is_part() ? log::part_write_bytes(write.key.size(), write.value.size())
                             : log::write_bytes(write.key.size(), write.remove ? 0 : write.value.size());
  }
  for (const RemoteWrite& write : writes.elsewhere)
    bytes += log::write_bytes(write.key.size(), write.remove ? 0 : write.value.size(), /*elsewhere=*/true);
  return bytes;
}

char* put(char* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);  // an empty view may have no address
  return to + bytes;
}

/// `Write` is WriteEntry or RemoteWrite.
template <typename Write>
char* put_header(char* to, std::uint32_t table, const Write& write, std::size_t value_bytes) {
  const WriteHeader header{table, static_cast<std::uint32_t>(write.key.size()),
                           write.remove ? log::kRemoved : static_cast<std::uint32_t>(value_bytes)};
  return put(to, &header, sizeof header);
}

template <typename Write>
char* put_content(char* to, const Write& write) {
  to = put(to, write.key.data(), write.key.size());
  return write.remove ? to : put(to, write.value.data(), write.value.size());
}

/// Writes the part alone. Recovery puts it onto the version before it, by the order of TIDs (I33,
/// recovery/merged_parts.h).
char* put_part(char* to, const WriteEntry& write) {
  const log::PartHeader part{write.part_from, write.whole_bytes};
  to = put_header(to, write.table | log::kPart, write, write.value.size());
  to = put(put(to, &part, sizeof part), write.key.data(), write.key.size());
  if (base::injected("part-missing-from-log")) {
    base::copy_part_from_shared(to, write.record->value_words(), write.part_from, write.value.size());
    return to + write.value.size();
  }
  return put(to, write.value.data(), write.value.size());
}

char* put_writes(char* to, const LoggedWrites& writes) {
  for (const WriteEntry& write : writes.here) {
    to = write.is_part() ? put_part(to, write)
                         : put_content(put_header(to, write.table, write, write.value.size()), write);
  }
  for (const RemoteWrite& write : writes.elsewhere) {
    const std::uint32_t home = write.node;
    to = put(put_header(to, write.table | log::kElsewhere, write, write.value.size()), &home, sizeof home);
    to = put_content(to, write);
  }
  return to;
}

}  // namespace

AbortReason await_log_room(const LoggedWrites& writes, WorkerState& worker) {
  const std::size_t bytes = log::padded(sizeof(EntryHeader) + body_bytes(writes, worker));
  if (bytes > worker.ring->capacity()) [[unlikely]]
    return AbortReason::kLogEntryTooLarge;
  return await_ring_room(bytes, worker);
}

AbortReason await_ring_room(std::size_t bytes, WorkerState& worker) {
  log::Log& log = *worker.shared.log;
  log::Ring& ring = *worker.ring;
  if (log.durable().failed()) [[unlikely]]
    return AbortReason::kLogFailed;
  if (!ring.has_room(bytes)) {
    bump(worker.ring_waits);
    if (!log.wait_for_room(*worker.waiter, ring, bytes)) return AbortReason::kLogFailed;
  }
  return AbortReason::kNone;
}

std::size_t write_log_entry(const LoggedWrites& writes, WorkerState& worker, TidWord tid) {
  char* const entry = worker.ring->at_tail();
  const EntryHeader header{static_cast<std::uint32_t>(body_bytes(writes, worker)), 0,
                           tid | static_cast<std::uint64_t>(EntryKind::kTransaction)};
  char* to = put(entry, &header, sizeof header);
  if (header.body_bytes != 0) to = put_writes(to, writes);
  std::memset(to, 0, static_cast<std::size_t>(entry + header.bytes() - to));
  return header.bytes();
}

}  // namespace granary::cc
