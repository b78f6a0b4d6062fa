#pragma once
// Remembers where records of another node's hash table were found (DrTM, slides 43 to 48): a hit saves the READs of the
// hash index. All workers of the node share it.
//
// The owner never invalidates anything: it does not know of the cache. A record that moved or died is found out by
// whoever READs it, because key or incarnation differ (I3), and reported with forget(). So a location is a hint, and
// the cache may also lose or keep what it likes; it only must not lead a key to another key's location, which would
// cost a READ every time.
//
// An entry has 16 bytes, eight of them make a set of two cache lines:
//
//   word 0   key ⊕ location
//   word 1   63         50 49      48 47                          3 2     0
//           +-------------+----------+-----------------------------+-------+
//           | lossy inc.  |  in use  |  offset in the region / 8   |  use  |
//           +-------------+----------+-----------------------------+-------+
//
// Both are loaded and stored on their own, without a lock. A torn pair, of two entries, is a miss: together the two
// words stand for some third key, and only by coincidence for the one that is looked up. Then a READ is wasted, which
// finds another key there, as after a move. `use` counts hits up to 7; the least used entry of a set makes room, and
// replacements age the set now and then. So a key that is asked for once does not drive out one that is asked for
// often, and what was popular yesterday leaves in the end. Entries that are used much are not written any more.
//
// A node has a cache for each table of each other node, and one budget for all of these caches. A cache begins small.
// It doubles when many entries had to make room, as long as the budget and the system have the memory; otherwise it
// stays as it is. Doubling would move most keys to another set, so the larger cache begins empty, and their places are
// looked up once more. Other workers may still be in the sets that it had before. So these stay mapped until the cache
// ends, and give their memory back. The budget counts what caches have now; a page of it becomes memory when the first
// entry is stored there. From 2 MiB on the pages may be huge. In all, the caches take at most twice their budget of
// address space.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "src/base/cache_line.h"

namespace granary::kvstore::remote {

/// A place in the owner's region, and the low bits of the incarnation of the record that was there. One word, which
/// functions return in a register.
class Location {
 public:
  constexpr Location() = default;
  /// The offset is below 2^48 and a multiple of 8; of the incarnation the low 14 bits count.
  constexpr Location(std::uint64_t offset, std::uint64_t incarnation) : word_(offset | incarnation << kShift) {}

  constexpr std::uint64_t offset() const { return word_ & ((std::uint64_t{1} << kOffsetBits) - 1); }
  constexpr std::uint64_t incarnation() const { return word_ >> kShift; }
  bool operator==(const Location&) const = default;

  /// Returns the location in the second word of an entry (LocationCache).
  static constexpr Location of_entry(std::uint64_t word) {
    Location location;
    location.word_ = word & ((((std::uint64_t{1} << kOffsetBits) - 1) ^ 7) | ~std::uint64_t{0} << kShift);
    return location;
  }

 private:
  static constexpr unsigned kOffsetBits = 48;
  static constexpr unsigned kShift = 50;
  std::uint64_t word_ = 0;
};

/// Of one worker, which alone writes them (relaxed); statistics sum them up.
struct LocationCacheCounters {
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> stale{0};         ///< hits that turned out wrong
  std::atomic<std::uint64_t> replacements{0};  ///< entries that had to make room
};

/// The memory that all location caches of a node may take together. Any thread may use it.
class LocationBudget {
 public:
  explicit LocationBudget(std::uint64_t bytes) : bytes_(bytes), left_(bytes) {}
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t left() const { return left_.load(std::memory_order_relaxed); }
  /// Takes `bytes` from what is left, or returns false if less is left. The order is relaxed because nothing but the
  /// sum matters.
  bool take(std::uint64_t bytes) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::uint64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  const std::uint64_t bytes_;
  std::atomic<std::uint64_t> left_;
};

class LocationCache {
 public:
  static constexpr std::uint64_t kEntryBytes = 16;
  static constexpr unsigned kEntriesOfSet = 8;
  /// The size at which a cache with a budget begins. The budget need not have so much.
  static constexpr std::uint64_t kFirstBytes = 4096;

  /// Makes a cache that does not grow: of as many sets as fit into `bytes`, and at least one. Throws std::bad_alloc if
  /// the system refuses that.
  explicit LocationCache(std::uint64_t bytes);
  /// Makes a cache that grows as `budget` and the system allow; it begins with one set if the system has no memory. The
  /// budget outlives the cache.
  explicit LocationCache(LocationBudget& budget);
  ~LocationCache();
  LocationCache(const LocationCache&) = delete;
  LocationCache& operator=(const LocationCache&) = delete;

  /// Prefetches what find() will look at, for a caller that has several keys to find.
  void prefetch(std::uint64_t key) const {
    const Home home = home_of(key);
    base::prefetch(&home.entry(0));
  }
  /// Returns the remembered place of the key (of a long key: of its fingerprint). Any thread may call it.
  std::optional<Location> find(std::uint64_t key, LocationCacheCounters& worker) const {
    const std::uint64_t word = find_word(key, worker);
    return word == 0 ? std::nullopt : std::optional(Location::of_entry(word));
  }
  /// Remembers where the key was found. Any thread may call it.
  void remember(std::uint64_t key, Location location, LocationCacheCounters& worker);
  /// Remembers where the key is if the cache has room that nobody uses. It is the first to make room for what is asked
  /// for. Any thread may call it.
  void offer(std::uint64_t key, Location location);
  /// Grows for so many keys, which its sets then hold with hardly any that has to make room. Returns false if the
  /// budget or the system is short of that, or the cache does not grow. Any thread may call it.
  bool reserve(std::uint64_t keys);
  /// Forgets a place that was READ and does not hold the key any more. A place that others have remembered since stays.
  /// Any thread may call it.
  void forget(std::uint64_t key, Location stale, LocationCacheCounters& worker);

  std::uint64_t entries() const { return sets_of(area_.load(std::memory_order_relaxed)) * kEntriesOfSet; }

 private:
  struct Entry {
    // Written by any worker, each word by a store or CAS; read with acquire, which on x86-64 costs nothing.
    std::atomic<std::uint64_t> check{0};
    std::atomic<std::uint64_t> word{0};
    /// Returns the second word if the entry is the key's, and otherwise 0.
    std::uint64_t word_for(std::uint64_t key) const;
  };
  struct alignas(2 * base::kCacheLine) Set {
    std::array<Entry, kEntriesOfSet> entries;
  };
  static_assert(sizeof(Set) == kEntriesOfSet * kEntryBytes);
  static constexpr unsigned kEntriesOfLine = base::kCacheLine / kEntryBytes;

  /// Where a key's entry is, if anywhere: in the set, looked for from one of its two lines on, so that a hit mostly
  /// touches only that.
  struct Home {
    Set& set;
    unsigned first;
    Entry& entry(unsigned step) const { return set.entries[(first + step) % kEntriesOfSet]; }
  };

  // The sets in use are an area. One word says where they are, and how often the cache has doubled:
  //
  //   63                              7 6         0
  //  +---------------------------------+-----------+
  //  |  address of the first set / 128 | doublings |
  //  +---------------------------------+-----------+
  static constexpr std::uint64_t kDoublingsMask = sizeof(Set) - 1;
  static constexpr unsigned kMostDoublings = 40;
  static_assert(kMostDoublings <= kDoublingsMask);
  static std::uint64_t area_of(const Set* sets, unsigned doublings) {
    return reinterpret_cast<std::uint64_t>(sets) | doublings;
  }
  static Set* first_of(std::uint64_t area) { return reinterpret_cast<Set*>(area & ~kDoublingsMask); }
  static unsigned doublings_of(std::uint64_t area) { return static_cast<unsigned>(area & kDoublingsMask); }
  std::uint64_t sets_of(std::uint64_t area) const { return first_sets_ << doublings_of(area); }

  /// Returns sets that hold nothing; nullptr if the system refuses their memory.
  static Set* map_sets(std::uint64_t sets);
  Home home_of(std::uint64_t key) const;
  /// Returns the second word of the key's entry; 0 if there is none. It is one word, so it comes back in a register: a
  /// std::optional goes over the stack, by a narrow store and a wide load, for which the processor waits.
  std::uint64_t find_word(std::uint64_t key, LocationCacheCounters& worker) const;
  static void age(Set& set);
  void count_replacement(Set& set, LocationCacheCounters& worker);
  bool grow(std::uint64_t from);

  LocationBudget* const budget_;  // none: it does not grow
  std::uint64_t first_sets_;      // how many sets the cache begins with; constant from construction on
  /// Stored by the worker whose compare-and-swap in grow() succeeds (release), read by all (acquire).
  std::atomic<std::uint64_t> area_;
  std::atomic<std::uint64_t> replacements_{0};    // since it last grew, while it may grow; by all workers, relaxed
  std::array<Set*, kMostDoublings> former_ = {};  // what the cache had before each doubling; written by whoever doubled
  Set only_;                                      // what it begins with if the system has no memory
};

}  // namespace granary::kvstore::remote
