#include "src/cc/silo/log_entry.h"

#include <cstring>

namespace granary::cc::silo {
namespace {

using log::EntryHeader;
using log::EntryKind;
using log::WriteHeader;

std::size_t body_bytes(const std::vector<WriteEntry>& writes, const WorkerState& worker) {
  if (worker.shared.settings.small_log_records) return 0;
  std::size_t bytes = 0;
  for (const WriteEntry& write : writes)
    bytes += log::write_bytes(write.key.size(), write.remove ? 0 : write.value.size());
  return bytes;
}

char* put(char* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return to + bytes;
}

char* put_write(char* to, const WriteEntry& write) {
  const WriteHeader header{write.table, static_cast<std::uint32_t>(write.key.size()),
                           write.remove ? log::kRemoved : static_cast<std::uint32_t>(write.value.size())};
  to = put(to, &header, sizeof header);
  to = put(to, write.key.data(), write.key.size());
  return write.remove ? to : put(to, write.value.data(), write.value.size());
}

}  // namespace

AbortReason reserve_log(const std::vector<WriteEntry>& writes, WorkerState& worker) {
  log::Log& log = *worker.shared.log;
  log::Ring& ring = *worker.ring;
  const std::size_t bytes = log::padded(sizeof(EntryHeader) + body_bytes(writes, worker));
  if (bytes > ring.capacity()) [[unlikely]]
    return AbortReason::kLogEntryTooLarge;
  if (log.durable().failed()) [[unlikely]]
    return AbortReason::kLogFailed;
  if (!ring.has_room(bytes)) {
    bump(worker.ring_waits, std::uint64_t{1});
    log.wait_for_room(*worker.waiter, ring, bytes);
    if (log.durable().failed()) return AbortReason::kLogFailed;
  }
  return AbortReason::kNone;
}

std::size_t write_log_entry(const std::vector<WriteEntry>& writes, WorkerState& worker, TidWord tid) {
  char* const entry = worker.ring->at_tail();
  const EntryHeader header{static_cast<std::uint32_t>(body_bytes(writes, worker)), 0,
                           tid | static_cast<std::uint64_t>(EntryKind::kTransaction)};
  char* to = put(entry, &header, sizeof header);
  if (header.body_bytes != 0) {
    for (const WriteEntry& write : writes) to = put_write(to, write);
  }
  std::memset(to, 0, static_cast<std::size_t>(entry + header.bytes() - to));
  return header.bytes();
}

void append_log(const std::vector<WriteEntry>& writes, WorkerState& worker, TidWord tid) {
  worker.ring->publish(write_log_entry(writes, worker, tid));
}

}  // namespace granary::cc::silo
