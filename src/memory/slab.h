#pragma once
// Allocates from type-stable slabs (I3). A SlabPool cuts one Region into extents, and each extent serves one size class
// of one kind. A SlabCache is the private front of one worker: it allocates by a pop from its own lists, and frees by a
// push.
//
// Memory that other nodes reach by remembered places (shared records, nodes of ordered indexes) holds such blocks until
// the pool dies. An extent of the other kinds may serve another class once all of its blocks are free, but only when
// memory is short (regain()). No reader is left then: a block is freed only after the grace period of its contents, or
// if no other thread ever saw it, so every thread that could look at it has left its epoch slot
// (docs/decisions/memory-between-classes.md). Extents of the kinds that never change lie together in pieces of the
// region. So the extents between the pieces, once they are free, join to ranges with room for large blocks.
//
// Size classes are multiples of 32 bytes, so that headers never straddle a cache line. From 1 KiB on, each class is
// about an eighth of a power of two larger than the one before.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/memory/free_runs.h"
#include "src/memory/region.h"

namespace granary::memory {

/// Tells what the blocks of an extent hold. Shared records have extents of their own, because other nodes reach them: a
/// place that was a shared record stays one, down to its state word and incarnation (I3). Nodes of ordered indexes have
/// extents of their own as well, because other nodes READ their version words. All else that indexes need is kNode.
enum class SlabKind : std::uint8_t { kRecord, kNode, kSharedRecord, kTreeNode };
inline constexpr std::size_t kSlabKinds = 4;

inline constexpr std::size_t kSlabGrain = 32;
/// The largest block, which holds a record with the largest value.
inline constexpr std::size_t kMaxSlabBytes = 1024 * 1024 + 128;

/// Returns the number of size classes. The next functions map between sizes and classes.
std::size_t size_class_count();
std::size_t size_class(std::size_t bytes);
std::size_t class_bytes(std::size_t size_class);

struct SlabOptions {
  /// The bytes that the pool may take from the region in all; 0 = as much as the region holds.
  std::uint64_t limit_bytes = 0;
  /// The part of the limit that only some allocations may take (Urgency). Urgent allocations are those on the way to
  /// freeing memory, such as the old version that a deletion must keep for snapshots: otherwise a full database could
  /// not delete.
  std::uint64_t reserve_bytes = 0;
  /// The part of the limit that memory which stays what it is leaves to the rest (SlabPool::leave_to_others()).
  std::uint64_t left_to_others_bytes = 0;
  /// Whether to use malloc and free instead (the paper's "simple allocator", Fig. 11).
  bool simple = false;
};

/// Tells how much of the reserve an allocation may use: none, half of it for nodes of indexes, or all of it if it is
/// urgent. Indexes have a half because an insert may need a node where records have filled memory, and deletions have
/// left gaps for records only.
enum class Urgency : std::uint8_t { kNormal, kIndex, kUrgent };

class SlabCache;

/// The memory that all workers of a database share. Thread-safe.
class SlabPool {
 public:
  SlabPool(Region& region, SlabOptions options);
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  /// Returns the usable bytes of a block that some cache of this pool handed out.
  std::size_t capacity(const void* block) const {
    if (options_.simple) [[unlikely]]
      return simple_capacity(block);
    return class_bytes_[extent_class_[extent_of(block)]];
  }

  /// Returns zeroed memory within the limit, which holds no blocks. Returns nullptr when the limit is reached.
  /// Thread-safe.
  char* take_run(std::size_t bytes);
  /// Takes back memory that take_run() returned for so many bytes, for any class to use. No thread looks at it any
  /// more. Thread-safe.
  void give_run(char* run, std::size_t bytes);

  /// Returns the bytes of runs and of extents that serve some class now.
  std::uint64_t bytes_reserved() const { return reserved_.load(std::memory_order_relaxed); }
  const SlabOptions& options() const { return options_; }
  /// Whether some cache was refused memory lately: blocks that lie idle in one cache may be missing in another.
  bool short_of_memory() const { return shortage_.load(std::memory_order_relaxed) != 0; }
  /// Lowers the reserve, because a database that is loaded may need memory that was reserved while it was filled.
  void lower_reserve(std::uint64_t bytes) { reserve_bytes_.store(bytes, std::memory_order_relaxed); }
  /// Raises the reserve to SlabOptions::reserve_bytes, or as far as there is memory that serves no class. So indexes
  /// and deletions share the memory that loading has left. It is also called after each regain(), so that the memory
  /// found there fills up the reserve before other allocations get it. Thread-safe.
  void restore_reserve();
  std::uint64_t limit_bytes() const { return options_.limit_bytes != 0 ? options_.limit_bytes : region_.size(); }
  /// Sets how many bytes of the limit memory that stays what it is may not have. Otherwise shared records could take
  /// everything for good. Old versions of them, which updates need, would find no memory then, however many rows are
  /// deleted. Memory that is taken already is not taken away. Thread-safe.
  void leave_to_others(std::uint64_t bytes) { left_to_others_bytes_.store(bytes, std::memory_order_relaxed); }
  /// Ends a shortage when nothing has been refused for a whole period. Called once an epoch period.
  void age_shortage();
  /// Takes extents whose blocks all lie in the pool away from their classes, for any class to use. Returns their bytes.
  /// It looks at all free blocks of the pool, so it is only for times when memory is short. Thread-safe.
  std::uint64_t regain();

  static constexpr unsigned kExtentShift = 16;  // 64 KiB
  static constexpr std::size_t kExtentBytes = std::size_t{1} << kExtentShift;

 private:
  friend class SlabCache;
  using Blocks = std::vector<void*>;
  /// A piece of the region for extents of one kind that never changes. `free` is the part that no extent has yet. If
  /// other extents have used that part before (`used_before`), it is not zero.
  struct Piece {
    char* free = nullptr;
    std::size_t bytes = 0;
    bool used_before = false;
  };
  char* take(SlabKind kind, std::size_t bytes, std::uint64_t limit);
  char* take_lasting(SlabKind kind, std::size_t bytes, std::uint64_t limit);
  char* take_free(std::size_t bytes);
  char* take_from_piece(SlabKind kind, std::size_t bytes);
  void renew(Piece& piece, std::size_t bytes);
  char* take_of_pieces(std::size_t bytes);
  char* take_of_free_runs(std::size_t bytes);
  [[nodiscard]] bool give_back(char* run, std::size_t bytes);
  [[nodiscard]] bool add_free_run(char* run, std::size_t bytes);
  std::uint64_t limit_for(Urgency urgency) const;
  /// Returns the extent that a block lies in, or begins in if it is larger than an extent.
  std::size_t extent_of(const void* block) const {
    return (reinterpret_cast<std::uintptr_t>(block) - base_) >> kExtentShift;
  }
  static std::size_t simple_capacity(const void* block);
  /// Returns a run of extents for one class, `bytes` long; nullptr when the limit is reached.
  char* take_extent(SlabKind kind, std::size_t class_index, Urgency urgency, std::size_t* bytes);
  /// Whether a block of that kind and class begins there.
  bool is_block(SlabKind kind, std::size_t class_index, const void* block) const;
  /// Takes the batch, which stays as it is if the system has no memory for a longer list.
  void give_batch(std::size_t list, Blocks&& batch);
  bool take_batch(std::size_t list, Blocks* batch);

  Region& region_;
  const SlabOptions options_;
  const std::uintptr_t base_;
  std::vector<std::uint8_t> extent_class_;  // written while no block of the extent is in use
  std::vector<SlabKind> extent_kind_;       // likewise
  std::array<std::size_t, 256> class_bytes_{};
  std::atomic<std::uint64_t> reserve_bytes_;         // SlabOptions::reserve_bytes or less; a bound, so relaxed
  std::atomic<std::uint64_t> left_to_others_bytes_;  // by leave_to_others(); likewise
  std::atomic<std::uint64_t> reserved_{0};
  std::atomic<std::uint64_t> lasting_{0};     // the bytes in reserved_ of extents that stay what they are
  std::atomic<unsigned> shortage_{0};         // for how many periods it lasts on; set by any cache; a hint, so relaxed
  std::atomic<std::uint64_t> free_bytes_{0};  // the bytes in free_runs_; read without the mutex as a hint
  std::mutex mutex_;                          // guards what follows
  std::vector<std::vector<Blocks>> spare_;    // per list (kind × class): blocks that some cache gave back
  FreeRuns free_runs_;                        // memory taken from the region that serves no class
  std::array<Piece, kSlabKinds> pieces_{};    // for the kinds that never change
};

/// The allocator of one worker. Not thread-safe, but it may go from thread to thread with the worker.
class SlabCache {
 public:
  explicit SlabCache(SlabPool& pool);
  /// Returns all free blocks to the pool.
  ~SlabCache();
  SlabCache(const SlabCache&) = delete;
  SlabCache& operator=(const SlabCache&) = delete;

  /// Returns a block of at least `bytes` (≤ kMaxSlabBytes), aligned to 32 bytes, or to a cache line if `bytes` is a
  /// multiple of one. The block still holds the bytes that it held when it was freed; one that was never used is zero.
  /// Returns nullptr when the memory limit is reached.
  void* allocate(SlabKind kind, std::size_t bytes, Urgency urgency = Urgency::kNormal);
  /// Takes back a block that any cache of the pool handed out with the same kind. If the system has no memory to list
  /// it, the block is never used again.
  void free(SlabKind kind, void* block) noexcept;
  /// Gives all free blocks back to the pool. It keeps those for which the system has no memory to list them there.
  void release() noexcept;

  SlabPool& pool() { return pool_; }
  /// Returns the bytes of a kind's blocks handed out minus those taken back, after rounding. May be negative in one
  /// cache.
  std::int64_t bytes_in_use(SlabKind kind) const {
    return in_use_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  /// Returns the bytes in use by indexes: by nodes of trees, and by all else that they need.
  std::int64_t index_bytes_in_use() const { return bytes_in_use(SlabKind::kNode) + bytes_in_use(SlabKind::kTreeNode); }

 private:
  /// The free blocks, of which the one freed last is on top. The list has their addresses only: a block is not touched
  /// when it is freed, as it is seldom in the processor's cache then.
  struct List {
    SlabPool::Blocks blocks;
    char* cut = nullptr;  // the extent being cut
    char* cut_end = nullptr;
  };
  void release(std::size_t list);
  void* refill(SlabKind kind, std::size_t class_index, Urgency urgency);
  void account(SlabKind kind, std::int64_t bytes) {
    // Only this worker writes it. Statistics read it with a relaxed load.
    std::atomic<std::int64_t>& in_use = in_use_[static_cast<std::size_t>(kind)];
    in_use.store(in_use.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  SlabPool& pool_;
  std::vector<List> lists_;
  std::array<std::atomic<std::int64_t>, kSlabKinds> in_use_{};
};

}  // namespace granary::memory
