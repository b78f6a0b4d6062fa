#include "recovery/lock_ahead.h"

#include <fmt/format.h>

#include <cstring>

#include "src/base/check.h"
#include "src/base/crc32c.h"
#include "src/record/state_word.h"

namespace granary::recovery {
namespace {

using log::LockHeader;
using log::NamedLock;

/// Reads a slot's header as it stands in the area.
struct Slot {
  std::uint64_t named, log_end, tid, check;

  std::uint64_t bytes() const { return log::bytes_of_named(named); }
  /// Returns what is wrong with the announcement of the transaction's decision, or nullptr.
  const char* wrong_decision() const {
    if (log_end == 0) return nullptr;
    if ((log_end & log::kAnnounced) != log::kAnnounced || check != log::decision_check(tid, log_end))
      return "the checksum of its decision is wrong";
    return tid == 0 || tid != record::tid_of(tid) ? "it is decided without a TID" : nullptr;
  }
  /// Whether a ring with this tail has the entry that was announced.
  bool is_decided(std::uint64_t tail) const { return log_end != 0 && entry_end() <= tail; }
  std::uint64_t entry_end() const { return log_end & ~log::kAnnounced; }
};
static_assert(sizeof(Slot) == sizeof(log::SlotHeader));

/// Takes the next lock off `rest`. Returns nullptr, or what is wrong with it.
const char* take_lock(std::string_view& rest, NamedLock& lock) {
  LockHeader header;
  if (rest.size() < sizeof header) return "the last lock is cut off";
  std::memcpy(&header, rest.data(), sizeof header);
  if (log::named_bytes(header.key_bytes) > rest.size()) return "a key is longer than what is left";
  if (!record::is_x_locked(header.word)) return "a word that is no x-lock's";
  lock = {header.word, header.node, header.table, rest.substr(sizeof header, header.key_bytes), header.state_offset};
  rest.remove_prefix(log::named_bytes(header.key_bytes));
  return nullptr;
}

Status damaged(std::uint64_t slot, const char* why) {
  return {StatusCode::kDamaged, fmt::format("slot {} of the lock-ahead record: {}", slot, why)};
}

/// Reads the transaction whose locks begin in block `number`. `room` has the bytes of that block and of those after it.
Result<UnfinishedTransaction> read_slot(const Slot& slot, std::uint64_t number, std::string_view room,
                                        std::uint64_t tail) {
  if (slot.bytes() > room.size()) return damaged(number, "it has more bytes than there are");
  if (slot.bytes() == 0) return damaged(number, "it has a checksum, but no locks");
  const std::string_view locks = room.substr(0, slot.bytes());
  if (base::crc32c(0, locks.data(), locks.size()) != log::crc_of_named(slot.named))
    return damaged(number, "the checksum of its locks is wrong");
  if (const char* const wrong = slot.wrong_decision(); wrong != nullptr) return damaged(number, wrong);
  UnfinishedTransaction found;
  if (slot.is_decided(tail)) {
    found.tid = slot.tid;
    found.log_end = slot.entry_end();
  }
  NamedLock lock;
  for (std::string_view rest = locks; !rest.empty(); found.locks.push_back(lock)) {
    if (const char* const wrong = take_lock(rest, lock); wrong != nullptr) return damaged(number, wrong);
  }
  return found;
}

}  // namespace

Result<std::vector<UnfinishedTransaction>> read_lock_ahead(std::string_view area, std::uint64_t slots,
                                                           std::uint64_t tail) {
  base::always_check(area.size() == slots * (sizeof(log::SlotHeader) + log::kLockBlockBytes), "the area has its slots");
  std::vector<UnfinishedTransaction> all;
  std::uint64_t behind = 0;  // the first block after the locks of the last slot that had any
  for (std::uint64_t number = 0; number < slots; ++number) {
    Slot slot;
    std::memcpy(&slot, area.data() + number * sizeof(log::SlotHeader), sizeof slot);
    if (slot.named == 0) continue;
    if (number < behind) return damaged(number, "its block is another slot's");
    const std::size_t begin = slots * sizeof(log::SlotHeader) + number * log::kLockBlockBytes;
    auto found = read_slot(slot, number, area.substr(begin), tail);
    if (!found.ok()) return found.status();
    all.push_back(std::move(*found));
    behind = number + (slot.bytes() + log::kLockBlockBytes - 1) / log::kLockBlockBytes;
  }
  return all;
}

Result<std::vector<UnfinishedTransaction>> read_lock_ahead(const log::Ring& ring) {
  const std::string_view area = ring.lock_area();
  return read_lock_ahead(area, area.size() / (sizeof(log::SlotHeader) + log::kLockBlockBytes),
                         ring.header().tail.load(std::memory_order_acquire));
}

}  // namespace granary::recovery
