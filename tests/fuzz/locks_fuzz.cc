// The lock-ahead record of a ring: whatever bytes the former process left, they are refused with a message, or every
// lock that is found lies inside. An input is one byte, the ring's tail and the area of a few slots; zeros fill it. Bit
// 0 of the first byte: the checksums are put right first.

#include <algorithm>
#include <cstring>
#include <string>

#include "recovery/lock_ahead.h"
#include "src/base/check.h"
#include "src/record/state_word.h"
#include "tests/fuzz/target.h"

namespace granary {
namespace {

constexpr std::uint64_t kSlots = 4;
constexpr std::size_t kAreaBytes = kSlots * (sizeof(log::SlotHeader) + log::kLockBlockBytes);

void mend_checksums(std::string& area) {
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    std::uint64_t slot[4];
    static_assert(sizeof slot == sizeof(log::SlotHeader));
    std::memcpy(slot, area.data() + i * sizeof slot, sizeof slot);
    const std::size_t begin = kSlots * sizeof slot + i * log::kLockBlockBytes;
    const std::uint32_t bytes = log::bytes_of_named(slot[0]);
    const std::size_t inside = std::min<std::size_t>(bytes, area.size() - begin);
    if (bytes != 0) slot[0] = log::named_word(bytes, base::crc32c(0, area.data() + begin, inside));
    slot[3] = log::decision_check(slot[2], slot[1]);
    std::memcpy(area.data() + i * sizeof slot, slot, sizeof slot);
  }
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::uint64_t tail = 0;
  std::string bytes(input.substr(1));
  bytes.resize(sizeof tail + kAreaBytes);
  std::memcpy(&tail, bytes.data(), sizeof tail);
  std::string area = bytes.substr(sizeof tail);  // in memory of exactly this size
  if ((input[0] & 1) != 0) mend_checksums(area);
  const auto found = recovery::read_lock_ahead(area, kSlots, tail);
  if (!found.ok()) {
    base::always_check(found.status().message().find("lock-ahead record: ") != std::string::npos, "a refusal says why");
    return false;
  }
  for (const recovery::UnfinishedTransaction& transaction : *found) {
    base::always_check(!transaction.locks.empty(), "who is unfinished names something");
    for (const log::NamedLock& lock : transaction.locks) {
      base::always_check(record::is_x_locked(lock.word), "a lock has its word");
      base::always_check(
          lock.key.data() >= area.data() && lock.key.data() + lock.key.size() <= area.data() + area.size(),
          "a key lies inside");
    }
  }
  return true;
}

}  // namespace granary
