#include "htm/simulator.h"

#include <algorithm>
#include <cstring>
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
  constexpr std::uint64_t kEarly = 32;  // chance ends a region at one of so many accesses
  for (const std::uint64_t line : written_lines_) written_in_set_[line % shape_.sets] = 0;
  used_.clear();
  index_of_line_.clear();
  written_lines_.clear();
  stores_.clear();
  last_store_.clear();
  stores_seen_ = lines::own().stores();
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
  const std::uint64_t value = value_of(word, use(word));
  look();
  return value;
}

void Simulator::copy(void* to, const std::uint64_t* from, std::size_t bytes) {
  const base::RegionPause hardware_would_do_this;
  auto* out = static_cast<char*>(to);
  while (bytes != 0) {
    touch();
    const UsedLine& used = use(from);
    do {
      const std::uint64_t word = value_of(from++, used);
      const std::size_t part = std::min(bytes, sizeof word);
      std::memcpy(out, &word, part);
      out += part;
      bytes -= part;
    } while (bytes != 0 && line_of(from) == used.line);
  }
  look();  // the body has used none of these words yet
}

void Simulator::store(std::uint64_t* word, std::uint64_t value) {
  const base::RegionPause hardware_would_do_this;
  touch();
  use_for_store(use(word));
  const auto at = static_cast<std::uint32_t>(stores_.size());
  stores_.push_back({word, value});
  last_store_.insert(reinterpret_cast<std::uintptr_t>(word), at) = at;
}

Simulator::UsedLine& Simulator::use(const std::uint64_t* word) {
  const std::uint64_t line = line_of(word);
  if (last_used_ < used_.size() && used_[last_used_].line == line) return used_[last_used_];
  last_used_ = index_of_line_.insert(line, static_cast<std::uint32_t>(used_.size()));
  if (last_used_ < used_.size()) return used_[last_used_];
  const Entry& entry = lines::entry_of(word);
  const std::uint64_t changes = entry.load(std::memory_order_acquire);
  if ((changes & lines::kLocked) != 0) throw Aborted{Cause::kConflict};
  if (used_.size() == shape_.lines) throw Aborted{Cause::kCapacity};
  return used_.emplace_back(line, &entry, changes, false);
}

void Simulator::use_for_store(UsedLine& used) {
  if (used.written) return;
  written_in_set_.resize(shape_.sets);
  std::uint8_t& in_set = written_in_set_[used.line % shape_.sets];
  if (in_set == shape_.ways) throw Aborted{Cause::kCapacity};
  ++in_set;
  used.written = true;
  written_lines_.push_back(used.line);
}

std::uint64_t Simulator::value_of(const std::uint64_t* word, const UsedLine& used) {
  if (used.written) {
    if (const std::uint32_t* own = last_store_.find(reinterpret_cast<std::uintptr_t>(word)); own != nullptr)
      return stores_[*own].value;
  }
  return raw_load(word);
}

/// Aborts the region if a used line has changed. The loads of the values so far were acquire loads. So if another
/// thread stored one of these values, the region sees that the thread has counted a store before, and has changed the
/// line's entry, or still holds it. As long as no thread has counted a store, there is nothing to look for.
void Simulator::look() {
  const std::uint64_t stores = lines::own().stores();
  if (stores == stores_seen_) return;
  if (!lines_hold()) throw Aborted{Cause::kConflict};
  stores_seen_ = stores;
}

bool Simulator::lines_hold() const {
  return std::ranges::all_of(used_, [this](const UsedLine& used) {
    const std::uint64_t now = used.entry->load(std::memory_order_acquire);
    if (now == used.changes) return true;
    // The line may also be locked by this region, if it was unchanged until then.
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
  if (!stores_.empty()) lines::own().count_store();
  // The stores go in the order of the body. Only a reader of a log that is shared with other processes could tell the
  // order.
  for (const BufferedStore& store : stores_) {
    std::atomic_ref<std::uint64_t>(*store.word).store(store.value, std::memory_order_release);
    base::sync_point("region.storing");
  }
  unlock(true);
  return {.committed = true};
}

void Simulator::stored(const Entry& entry, std::uint64_t changes_before) {
  for (UsedLine& used : used_) {
    if (used.entry == &entry && used.changes == changes_before) used.changes += lines::kOneChange;
  }
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
