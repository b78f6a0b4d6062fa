#include "kvstore/remote/location_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "src/base/check.h"
#include "src/base/counter.h"
#include "src/base/random.h"
#include "src/base/test_hooks.h"
#include "src/memory/address_space.h"

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
std::uint64_t place(std::uint64_t word) { return word & ~kUseMask; }
std::uint64_t use(std::uint64_t word) { return word & kUseMask; }
/// The check word of an entry with this key and this second word (I23).
std::uint64_t check_of(std::uint64_t key, std::uint64_t word) {
  return base::injected("check-without-location") ? key : key ^ place(word);
}

constexpr std::uint64_t kPage = 4096;

/// Of so many entries one has to make room before a cache grows.
constexpr std::uint64_t kEntriesOfReplacement = 4;

/// So many keys for each set, spread at random, leave room in nearly all sets: of those with 8 entries, one in 27 gets
/// more.
constexpr std::uint64_t kKeysOfFullSet = 5;

/// Returns how much address space sets of so many bytes take, which is whole pages.
std::uint64_t mapped_bytes(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Gives back the memory of an area that others may still store to. Each store takes a small page then.
void give_memory_back(void* at, std::uint64_t bytes) {
  ::madvise(at, bytes, MADV_NOHUGEPAGE);
  ::madvise(at, bytes, MADV_DONTNEED);
}

}  // namespace

/// A set is atomic words, all zero when it is empty: as the memory is that is mapped. Huge pages back the area as far
/// as it fills them: keys are spread over all of it at random, so small pages would be missing in the processor's TLB,
/// and they would all be taken soon.
LocationCache::Set* LocationCache::map_sets(std::uint64_t sets) {
  const std::uint64_t bytes = mapped_bytes(sets * sizeof(Set));
  char* const at = memory::reserve_aligned(bytes);
  if (at == nullptr) return nullptr;
  const std::uint64_t huge = bytes / memory::kHugePage * memory::kHugePage;
  if (huge != 0) ::madvise(at, huge, MADV_HUGEPAGE);
  if (huge != bytes) ::madvise(at + huge, bytes - huge, MADV_NOHUGEPAGE);
  return reinterpret_cast<Set*>(at);
}

LocationCache::LocationCache(std::uint64_t bytes)
    : budget_(nullptr),
      first_sets_(std::max<std::uint64_t>(bytes / sizeof(Set), 1)),
      area_(area_of(map_sets(first_sets_), 0)) {
  if (area_.load(std::memory_order_relaxed) == 0) throw std::bad_alloc();
}

LocationCache::LocationCache(LocationBudget& budget)
    : budget_(&budget),
      first_sets_(kFirstBytes / sizeof(Set)),
      area_(area_of(map_sets(first_sets_), 0)) {
  if (area_.load(std::memory_order_relaxed) != 0) return;
  first_sets_ = 1;
  area_.store(area_of(&only_, 0), std::memory_order_relaxed);
}

LocationCache::~LocationCache() {
  const std::uint64_t area = area_.load(std::memory_order_relaxed);
  if (budget_ != nullptr) budget_->give_back((sets_of(area) - first_sets_) * sizeof(Set));
  const auto unmap = [this](Set* sets, unsigned doublings) {
    if (sets != &only_) ::munmap(sets, mapped_bytes((first_sets_ << doublings) * sizeof(Set)));
  };
  for (unsigned doublings = 0; doublings < doublings_of(area); ++doublings) unmap(former_[doublings], doublings);
  unmap(first_of(area), doublings_of(area));
}

/// The budget gives as much again as there is. One worker of several that come here at once doubles the cache, the
/// others give theirs back. Returns false if the cache cannot grow.
bool LocationCache::grow(std::uint64_t from) {
  const unsigned doublings = doublings_of(from);
  const std::uint64_t sets = sets_of(from), more = sets * sizeof(Set);
  if (budget_ == nullptr || doublings == kMostDoublings || !budget_->take(more)) return false;
  Set* const former = first_of(from);
  Set* const larger = map_sets(2 * sets);
  if (larger != nullptr &&
      area_.compare_exchange_strong(from, area_of(larger, doublings + 1), std::memory_order_release)) {
    former_[doublings] = former;
    if (former != &only_) give_memory_back(former, mapped_bytes(more));
    return true;
  }
  budget_->give_back(more);
  if (larger == nullptr) return false;
  ::munmap(larger, mapped_bytes(2 * more));
  return true;
}

bool LocationCache::reserve(std::uint64_t keys) {
  const std::uint64_t sets = keys / kKeysOfFullSet + 1;
  for (;;) {
    const std::uint64_t has = area_.load(std::memory_order_acquire);
    if (sets_of(has) >= sets) return true;
    if (!grow(has)) return false;
  }
}

void LocationCache::count_replacement(Set& set, LocationCacheCounters& worker) {
  base::bump(worker.replacements);
  if (worker.replacements.load(std::memory_order_relaxed) % kAgingPeriod == 0) age(set);
  if (budget_ == nullptr) return;
  const std::uint64_t area = area_.load(std::memory_order_acquire);
  const std::uint64_t enough = sets_of(area) * kEntriesOfSet / kEntriesOfReplacement;
  if (replacements_.fetch_add(1, std::memory_order_relaxed) < enough) return;
  replacements_.store(0, std::memory_order_relaxed);
  grow(area);
}

/// The upper half of the product chooses the set, the highest bit below the line.
LocationCache::Home LocationCache::home_of(std::uint64_t key) const {
  std::uint64_t state = key;
  const std::uint64_t area = area_.load(std::memory_order_acquire);
  const unsigned __int128 product = static_cast<unsigned __int128>(base::splitmix64(state)) * sets_of(area);
  const auto below = static_cast<std::uint64_t>(product);
  return {first_of(area)[static_cast<std::uint64_t>(product >> 64)], below >> 63 != 0 ? kEntriesOfLine : 0};
}

std::uint64_t LocationCache::Entry::word_for(std::uint64_t key) const {
  const std::uint64_t its_check = check.load(std::memory_order_acquire);
  const std::uint64_t its_word = word.load(std::memory_order_acquire);
  const std::uint64_t differs = (its_check ^ check_of(key, its_word)) | (~its_word & kInUse);
  return differs == 0 ? its_word : 0;
}

/// Looks at all entries of a line, without a branch for each: as nothing tells in which one the key is, the processor
/// would often guess wrong. Only the entry that is found is loaded once more, and used.
std::uint64_t LocationCache::find_word(std::uint64_t key, LocationCacheCounters& worker) const {
  const Home home = home_of(key);
  for (unsigned line = 0; line < kEntriesOfSet; line += kEntriesOfLine) {
    Entry* const entries = &home.entry(line);
    unsigned found = 0;
#pragma GCC unroll 4
    for (unsigned i = 0; i < kEntriesOfLine; ++i) found |= unsigned{entries[i].word_for(key) != 0} << i;
    if (found == 0) continue;
    Entry& entry = entries[std::countr_zero(found)];
    const std::uint64_t word = entry.word_for(key);
    if (word == 0) continue;
    base::bump(worker.hits);
    base::sync_point("location_cache.found");
    // If the entry is another by now, this use is not counted. It may still become another between the look and the
    // store, and then our word lies beside that one's check, or comes back after forget(): an entry is lost, or has to
    // be forgotten once more. A compare-and-swap would avoid that, but it would let none of the caller's next loads
    // begin before this one has its cache line.
    if (use(word) != kUseMask && entry.word.load(std::memory_order_relaxed) == word)
      entry.word.store(word + 1, std::memory_order_relaxed);
    return word;
  }
  base::bump(worker.misses);
  return 0;
}

/// Lets what was used much be replaced some day.
void LocationCache::age(Set& set) {
  for (Entry& entry : set.entries) {
    std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    if (use(word) != 0) entry.word.compare_exchange_weak(word, word - 1, std::memory_order_relaxed);
  }
}

void LocationCache::remember(std::uint64_t key, Location location, LocationCacheCounters& worker) {
  base::debug_invariant("I23", [&] { return Location::of_entry(pack(location)) == location; });
  const Home home = home_of(key);
  Entry* room = nullptr;
  std::uint64_t least = 0;
  for (unsigned step = 0; step < kEntriesOfSet; ++step) {
    Entry& entry = home.entry(step);
    const std::uint64_t check = entry.check.load(std::memory_order_relaxed);
    const std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    const bool used = (word & kInUse) != 0;
    const std::uint64_t rank = used ? use(word) + 1 : 0;
    if (used && check == check_of(key, word)) {
      room = &entry;
      least = 0;
      break;
    }
    if (room != nullptr && rank >= least) continue;
    room = &entry;
    least = rank;
  }
  if (least != 0) count_replacement(home.set, worker);
  const std::uint64_t word = pack(location);
  room->check.store(check_of(key, word), std::memory_order_release);
  base::sync_point("location_cache.half_stored");
  room->word.store(word + 1, std::memory_order_release);
}

void LocationCache::offer(std::uint64_t key, Location location) {
  const Home home = home_of(key);
  Entry* room = nullptr;
  for (unsigned step = 0; step < kEntriesOfSet; ++step) {
    Entry& entry = home.entry(step);
    const std::uint64_t check = entry.check.load(std::memory_order_relaxed);
    const std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    const bool used = (word & kInUse) != 0;
    if (used && check == check_of(key, word)) return;
    if (!used && room == nullptr) room = &entry;
  }
  if (room == nullptr && base::injected("sweep-replaces-entries")) room = &home.entry(0);
  if (room == nullptr) return;
  const std::uint64_t word = pack(location);
  room->check.store(check_of(key, word), std::memory_order_release);
  room->word.store(word, std::memory_order_release);
}

void LocationCache::forget(std::uint64_t key, Location stale, LocationCacheCounters& worker) {
  base::bump(worker.stale);
  const std::uint64_t gone = pack(stale);
  for (Entry& entry : home_of(key).set.entries) {
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    if (place(word) != gone || entry.check.load(std::memory_order_acquire) != check_of(key, gone)) continue;
    entry.word.compare_exchange_strong(word, 0, std::memory_order_release, std::memory_order_relaxed);
    return;
  }
}

}  // namespace granary::kvstore::remote
