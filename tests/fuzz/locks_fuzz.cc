// The lock-ahead record of a ring: whatever bytes the former process left, they are refused with a message, or every lock that is
// found lies inside. An input is one byte, the ring's tail and the area of a few slots; zeros fill it.

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

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::uint64_t tail = 0;
  std::string bytes(input.substr(1));
  bytes.resize(sizeof tail + kAreaBytes);
  std::memcpy(&tail, bytes.data(), sizeof tail);
  const std::string area = bytes.substr(sizeof tail);  // in memory of exactly this size
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
