#include "kvstore/remote/location_cache.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/random.h"
#include "src/base/test_hooks.h"

namespace granary::kvstore::remote {
namespace {

constexpr std::uint64_t kUseMask = 7;
constexpr std::uint64_t kInUse = std::uint64_t{1} << 48;
constexpr std::uint64_t kOffsetMask = kInUse - 1 - kUseMask;
constexpr unsigned kIncarnationShift = 50;  // as in a Location
constexpr std::uint64_t kIncarnationMask = (std::uint64_t{1} << (64 - kIncarnationShift)) - 1;
static_assert(((kIncarnationMask << kIncarnationShift) ^ (kInUse | kInUse << 1) ^ kOffsetMask ^ kUseMask) ==
                  ~std::uint64_t{0},
              "the fields tile the word");

/// One replacement of so many ages its set.
constexpr std::uint64_t kAgingPeriod = 32;

std::uint64_t pack(Location location) {
  return location.offset() | kInUse | location.incarnation() << kIncarnationShift;
}
Location unpack(std::uint64_t word) { return Location(word & kOffsetMask, word >> kIncarnationShift); }
std::uint64_t place(std::uint64_t word) { return word & ~kUseMask; }
std::uint64_t use(std::uint64_t word) { return word & kUseMask; }

/// Only its worker writes a counter.
void count(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

LocationCache::LocationCache(std::uint64_t bytes)
    : sets_count_(std::max<std::uint64_t>(bytes / sizeof(Set), 1)),
      sets_(std::make_unique<Set[]>(sets_count_)) {}

/// The upper half of the product chooses the set, the highest bit below the line.
LocationCache::Home LocationCache::home_of(std::uint64_t key) const {
  std::uint64_t state = key;
  const unsigned __int128 product = static_cast<unsigned __int128>(base::splitmix64(state)) * sets_count_;
  const auto below = static_cast<std::uint64_t>(product);
  return {sets_[static_cast<std::uint64_t>(product >> 64)], below >> 63 != 0 ? kEntriesOfSet / 2 : 0};
}

std::optional<Location> LocationCache::find(std::uint64_t key, LocationCacheCounters& worker) const {
  const Home home = home_of(key);
  for (unsigned step = 0; step < kEntriesOfSet; ++step) {
    Entry& entry = home.entry(step);
    const std::uint64_t check = entry.check.load(std::memory_order_acquire);
    const std::uint64_t word = entry.word.load(std::memory_order_acquire);
    if ((word & kInUse) == 0 || (check ^ place(word)) != key) continue;
    count(worker.hits);
    base::sync_point("location_cache.found");
    // If the entry is another by now, this use is not counted: a plain store would put a word of ours beside that one's check.
    if (std::uint64_t seen = word; use(seen) != kUseMask)
      entry.word.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed);
    return unpack(word);
  }
  count(worker.misses);
  return std::nullopt;
}

/// Lets what was used much be replaced some day.
void LocationCache::age(Set& set) {
  for (Entry& entry : set.entries) {
    std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    if (use(word) != 0) entry.word.compare_exchange_weak(word, word - 1, std::memory_order_relaxed);
  }
}

void LocationCache::remember(std::uint64_t key, Location location, LocationCacheCounters& worker) {
  base::debug_check(location.offset() == (location.offset() & kOffsetMask),
                    "offsets are below 2^48 and multiples of 8");
  const Home home = home_of(key);
  Entry* room = nullptr;
  std::uint64_t least = 0;
  for (unsigned step = 0; step < kEntriesOfSet; ++step) {
    Entry& entry = home.entry(step);
    const std::uint64_t check = entry.check.load(std::memory_order_relaxed);
    const std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    const bool used = (word & kInUse) != 0;
    const std::uint64_t rank = used ? use(word) + 1 : 0;
    if (used && (check ^ place(word)) == key) {
      room = &entry;
      least = 0;
      break;
    }
    if (room != nullptr && rank >= least) continue;
    room = &entry;
    least = rank;
  }
  if (least != 0) {
    count(worker.replacements);
    if (worker.replacements.load(std::memory_order_relaxed) % kAgingPeriod == 0) age(home.set);
  }
  const std::uint64_t word = pack(location);
  room->check.store(key ^ word, std::memory_order_release);
  base::sync_point("location_cache.half_stored");
  room->word.store(word + 1, std::memory_order_release);
}

void LocationCache::forget(std::uint64_t key, Location stale, LocationCacheCounters& worker) {
  count(worker.stale);
  const std::uint64_t gone = pack(stale);
  for (Entry& entry : home_of(key).set.entries) {
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    if (place(word) != gone || (entry.check.load(std::memory_order_acquire) ^ gone) != key) continue;
    entry.word.compare_exchange_strong(word, 0, std::memory_order_release, std::memory_order_relaxed);
    return;
  }
}

void LocationCache::clear() {
  for (std::uint64_t i = 0; i < sets_count_; ++i) {
    for (Entry& entry : sets_[i].entries) entry.word.store(0, std::memory_order_release);
  }
}

}  // namespace granary::kvstore::remote
