#include "src/log/lock_ahead.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "src/base/check.h"
#include "src/record/tid.h"

namespace granary::log {
namespace {

/// Stores the word by itself, without base::store_word(), which tells regions: no region and no other thread looks at
/// these words.
void store(std::uint64_t* to, std::uint64_t word) {
  std::atomic_ref<std::uint64_t>(*to).store(word, std::memory_order_release);
}

/// Stores the bytes as words, and fills the last word with zeros.
void store_bytes(std::uint64_t* to, std::string_view bytes) {
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    store(to++, word);
  }
  if (bytes.empty()) return;
  word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  store(to, word);
}

}  // namespace

std::uint64_t LockAheadArea::take(std::uint64_t count) {
  std::uint64_t free = 0;  // how many slots in a row are free
  for (std::uint64_t slot = 0; slot < slots(); ++slot) {
    free = taken_[slot] != 0 ? 0 : free + 1;
    if (free != count) continue;
    const std::uint64_t first = slot + 1 - count;
    for (std::uint64_t i = first; i <= slot; ++i) taken_[i] = 1;
    return first;
  }
  return slots();
}

void LockAheadArea::give_back(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    base::invariant("I10", taken_[i] != 0);
    taken_[i] = 0;
  }
}

bool LockAheadArea::empty() const { return std::find(taken_.begin(), taken_.end(), std::uint8_t{1}) == taken_.end(); }

epoch::Epoch LockAheadArea::oldest_decided() const {
  epoch::Epoch oldest = ~epoch::Epoch{0};
  for (std::uint64_t slot = 0; slot < slots(); ++slot) {
    const SlotHeader& one = header(slot);
    if (one.named.load(std::memory_order_acquire) == 0) continue;
    if ((one.log_end.load(std::memory_order_acquire) & kAnnounced) == 0) continue;
    oldest = std::min(oldest, record::epoch_of(one.tid.load(std::memory_order_acquire)));
  }
  return oldest;
}

bool NamedLocks::reserve(std::uint64_t bytes) {
  if (bytes == 0 || (!runs_.empty() && runs_.back().room() >= bytes)) return true;
  const std::uint64_t count = (bytes + kLockBlockBytes - 1) / kLockBlockBytes;
  const std::uint64_t first = area_->take(count);
  if (first == area_->slots()) return false;
  area_->header(first).log_end.store(0, std::memory_order_release);
  runs_.push_back({.first = first, .count = count, .bytes = 0, .crc = 0});
  return true;
}

void NamedLocks::add(const NamedLock& lock) {
  base::invariant("I10", !runs_.empty() && runs_.back().room() >= named_bytes(lock.key.size()));
  Run& run = runs_.back();
  auto* const to = reinterpret_cast<std::uint64_t*>(area_->block(run.first) + run.bytes);
  run.bytes += named_bytes(lock.key.size());
  const LockHeader header{
      lock.word, lock.state_offset, lock.node, lock.table, static_cast<std::uint32_t>(lock.key.size()), 0};
  const auto words = std::bit_cast<std::array<std::uint64_t, sizeof header / sizeof(std::uint64_t)>>(header);
  for (std::size_t i = 0; i < words.size(); ++i) store(to + i, words[i]);
  store_bytes(to + words.size(), lock.key);
  run.crc = base::crc32c(run.crc, to, named_bytes(lock.key.size()));
}

void NamedLocks::publish() {
  if (runs_.empty()) return;
  const Run& run = runs_.back();
  const std::uint64_t named = named_word(static_cast<std::uint32_t>(run.bytes), run.crc);
  area_->header(run.first).named.store(named, std::memory_order_release);
}

void NamedLocks::announce_decision(std::uint64_t tid, std::uint64_t log_end) {
  base::invariant("I10", log_end != 0 && (log_end & kAnnounced) == 0);
  const std::uint64_t announced = log_end | kAnnounced;
  for (const Run& run : runs_) {
    SlotHeader& header = area_->header(run.first);
    header.tid.store(tid, std::memory_order_release);
    header.check.store(decision_check(tid, announced), std::memory_order_release);
    header.log_end.store(announced, std::memory_order_release);
  }
}

void NamedLocks::take_back_announcement() {
  for (const Run& run : runs_) area_->header(run.first).log_end.store(0, std::memory_order_release);
}

void NamedLocks::complete() {
  for (const Run& run : runs_) {
    area_->header(run.first).named.store(0, std::memory_order_release);
    area_->give_back(run.first, run.count);
  }
  runs_.clear();
}

}  // namespace granary::log
