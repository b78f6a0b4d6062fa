#include "htm/simulator.h"

#include <algorithm>
#include <limits>

#include "src/base/cache_line.h"
#include "src/base/test_hooks.h"

namespace granary::htm {
namespace {

namespace lines = base::lines;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

std::uint64_t line_of(const void* word) { return reinterpret_cast<std::uintptr_t>(word) / base::kCacheLine; }

std::uint64_t raw_load(const std::uint64_t* word) {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

}  // namespace

Simulator::Simulator(const HtmSimulation& shape, std::uint64_t stream) : shape_(shape), random_(shape.seed, stream) {}

void Simulator::begin() {
  constexpr std::uint64_t kThousand = 1000;
  constexpr std::uint64_t kEarly = 32;  // accesses among which chance chooses
  used_.clear();
  written_lines_.clear();
  stores_.clear();
  const bool ends = random_.next() % kThousand < shape_.spurious_per_thousand;
  accesses_left_ = ends ? random_.next() % kEarly : kNever;
}

void Simulator::touch() {
  if (accesses_left_ == kNever) return;
  if (accesses_left_-- == 0) throw Aborted{Cause::kOther};
}

std::uint64_t Simulator::load(const std::uint64_t* word) {
  const base::RegionPause hardware_would_do_this;
  touch();
  for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
    if (store->word == word) return store->value;
  }
  use(line_of(word), lines::entry_of(word));
  const std::uint64_t value = raw_load(word);
  // Whoever stored what was seen has counted since, or still holds its line: the load above acquired that.
  look();
  return value;
}

void Simulator::store(std::uint64_t* word, std::uint64_t value) {
  const base::RegionPause hardware_would_do_this;
  touch();
  use(line_of(word), lines::entry_of(word));
  use_for_store(line_of(word));
  stores_.push_back({word, value});
}

void Simulator::use(std::uint64_t line, const Entry& entry) {
  if (std::ranges::any_of(used_, [line](const UsedLine& used) { return used.line == line; })) return;
  const std::uint64_t changes = entry.load(std::memory_order_acquire);
  if ((changes & lines::kLocked) != 0) throw Aborted{Cause::kConflict};
  if (used_.size() == shape_.lines) throw Aborted{Cause::kCapacity};
  used_.push_back({line, &entry, changes});
}

void Simulator::use_for_store(std::uint64_t line) {
  std::uint32_t in_set = 0;
  for (const std::uint64_t other : written_lines_) {
    if (other == line) return;
    if (other % shape_.sets == line % shape_.sets) ++in_set;
  }
  if (in_set == shape_.ways) throw Aborted{Cause::kCapacity};
  written_lines_.push_back(line);
}

void Simulator::look() const {
  if (!lines_hold()) throw Aborted{Cause::kConflict};
}

bool Simulator::lines_hold() const {
  return std::ranges::all_of(used_, [this](const UsedLine& used) {
    const std::uint64_t now = used.entry->load(std::memory_order_acquire);
    if (now == used.changes) return true;
    // Locked by this region, and unchanged until then?
    const auto mine = std::ranges::lower_bound(locked_, used.entry, {}, &LockedEntry::entry);
    return mine != locked_.end() && mine->entry == used.entry && mine->changes == used.changes;
  });
}

Attempt Simulator::commit() {
  const base::RegionPause hardware_would_do_this;
  if (accesses_left_ != kNever) return {.cause = Cause::kOther};
  if (!lock_written_lines() || !lines_hold()) {
    unlock(false);
    return {.cause = Cause::kConflict};
  }
  // In the order of the body, as nobody but a reader of a log that is shared with other processes could tell.
  for (const BufferedStore& store : stores_) {
    std::atomic_ref<std::uint64_t>(*store.word).store(store.value, std::memory_order_release);
    base::sync_point("region.storing");
  }
  unlock(true);
  return {.committed = true};
}

bool Simulator::lock_written_lines() {
  locked_.clear();
  for (const std::uint64_t line : written_lines_) {
    Entry& entry = lines::entry_of(reinterpret_cast<const void*>(line * base::kCacheLine));
    locked_.push_back({&entry, 0});
  }
  std::ranges::sort(locked_, {}, &LockedEntry::entry);
  const auto twice = std::ranges::unique(locked_, {}, &LockedEntry::entry);
  locked_.erase(twice.begin(), twice.end());
  for (auto next = locked_.begin(); next != locked_.end(); ++next) {
    std::uint64_t seen = next->entry->load(std::memory_order_relaxed);
    next->changes = seen;
    if ((seen & lines::kLocked) == 0 &&
        next->entry->compare_exchange_strong(seen, seen | lines::kLocked, std::memory_order_acq_rel))
      continue;
    locked_.erase(next, locked_.end());
    return false;
  }
  return true;
}

void Simulator::unlock(bool changed) {
  for (const LockedEntry& locked : locked_)
    locked.entry->store(locked.changes + (changed ? lines::kOneChange : 0), std::memory_order_release);
  locked_.clear();
}

}  // namespace granary::htm
