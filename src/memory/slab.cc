#include "src/memory/slab.h"

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "src/base/cache_line.h"
#include "src/base/check.h"
#include "src/base/region_mark.h"
#include "src/memory/size_classes.h"

namespace granary::memory {
namespace {

/// Other nodes remember places of the other kinds; a place that was one stays one.
constexpr bool may_change_class(SlabKind kind) { return kind == SlabKind::kRecord || kind == SlabKind::kNode; }

constexpr std::size_t whole_extents(std::size_t bytes) {
  return (bytes + SlabPool::kExtentBytes - 1) / SlabPool::kExtentBytes * SlabPool::kExtentBytes;
}

/// What one cut takes from the region: enough for a few blocks, whole extents.
constexpr std::size_t cut_bytes(std::size_t class_index) {
  const std::size_t want = bytes_of(class_index) * 4;
  return want <= SlabPool::kExtentBytes ? SlabPool::kExtentBytes : whole_extents(bytes_of(class_index));
}

/// How much of the region the extents of one kind that stays what it is get at once: a small share of what there is,
/// and no more than keeps what lies between two pieces some large blocks long.
constexpr std::size_t piece_bytes(std::uint64_t limit) {
  constexpr std::uint64_t kMost = std::uint64_t{2} << 20, kShareOfLimit = 32;
  return whole_extents(std::min(kMost, limit / kShareOfLimit));
}

/// Epoch periods without a refusal after which memory is not short any more.
constexpr unsigned kShortagePeriods = 2;
/// No extent has so many blocks: of one whose class has been taken away.
constexpr std::uint16_t kTaken = 0xffff;
static_assert(SlabPool::kExtentBytes / kSlabGrain < kTaken);

/// Adds to a sum of extents, unless it would be more than the limit then. Relaxed, because only the sum matters. What
/// does not fit is not added for a moment either, since smaller requests of other threads would be refused meanwhile.
bool add_within(std::atomic<std::uint64_t>& sum, std::size_t bytes, std::uint64_t limit) {
  std::uint64_t before = sum.load(std::memory_order_relaxed);
  do {
    if (bytes > limit || before > limit - bytes) return false;
  } while (!sum.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace

std::size_t size_class_count() { return kClasses; }
std::size_t size_class(std::size_t bytes) { return class_of(bytes); }
std::size_t class_bytes(std::size_t class_index) { return bytes_of(class_index); }

SlabPool::SlabPool(Region& region, SlabOptions options)
    : region_(region),
      options_(options),
      base_(reinterpret_cast<std::uintptr_t>(region.base())),
      extent_class_((region.size() >> kExtentShift) + 1),
      extent_kind_((region.size() >> kExtentShift) + 1),
      reserve_bytes_(options.reserve_bytes),
      left_to_others_bytes_(options.left_to_others_bytes),
      spare_(kSlabKinds * kClasses) {
  for (std::size_t i = 0; i < kClasses; ++i) class_bytes_[i] = bytes_of(i);
}

SlabPool::~SlabPool() = default;

std::size_t SlabPool::simple_capacity(const void* block) { return ::malloc_usable_size(const_cast<void*>(block)); }

std::uint64_t SlabPool::limit_for(Urgency urgency) const {
  const std::uint64_t reserve = reserve_bytes_.load(std::memory_order_relaxed);
  switch (urgency) {
    case Urgency::kNormal: return limit_bytes() - reserve;
    case Urgency::kIndex: return limit_bytes() - reserve / 2;
    case Urgency::kUrgent: return limit_bytes();
  }
  std::abort();
}

char* SlabPool::take(SlabKind kind, std::size_t bytes, std::uint64_t limit) {
  char* extent = nullptr;
  if (add_within(reserved_, bytes, limit)) {
    extent = may_change_class(kind) ? take_free(bytes) : take_from_piece(kind, bytes);
    if (extent == nullptr) reserved_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  if (extent == nullptr) shortage_.store(kShortagePeriods, std::memory_order_relaxed);
  return extent;
}

/// Takes memory for a kind that stays what it is. What the other kinds have of the memory that is left to them does not
/// count here, since they can give it back.
char* SlabPool::take_lasting(SlabKind kind, std::size_t bytes, std::uint64_t limit) {
  const std::uint64_t left = std::min(limit, left_to_others_bytes_.load(std::memory_order_relaxed));
  if (!add_within(lasting_, bytes, limit - left)) {
    shortage_.store(kShortagePeriods, std::memory_order_relaxed);
    return nullptr;
  }
  char* const extent = take(kind, bytes, limit);
  if (extent == nullptr) lasting_.fetch_sub(bytes, std::memory_order_relaxed);
  return extent;
}

/// Zeroed, as memory of the region is that was never used: a shared record begins with a free state word, and a tree
/// node counts versions on from what was in its place.
char* SlabPool::take_free(std::size_t bytes) {
  char* run = nullptr;
  if (free_bytes_.load(std::memory_order_relaxed) >= bytes) [[unlikely]] {
    const std::lock_guard lock(mutex_);
    run = take_of_free_runs(bytes);
  }
  if (run == nullptr) {
    run = region_.take(bytes);
    if (run != nullptr) return run;
    const std::lock_guard lock(mutex_);
    run = take_of_pieces(bytes);
  }
  if (run != nullptr) std::memset(run, 0, bytes);
  return run;
}

/// Cuts the extent from the kind's own piece, and takes another piece when that is used up. Where no piece is free any
/// more, the kind gets whatever is free. The memory is zero.
char* SlabPool::take_from_piece(SlabKind kind, std::size_t bytes) {
  char* run = nullptr;
  bool used_before = false;
  {
    const std::lock_guard lock(mutex_);
    Piece& piece = pieces_[static_cast<std::size_t>(kind)];
    if (piece.bytes < bytes) renew(piece, std::max(bytes, piece_bytes(limit_bytes())));
    if (piece.bytes >= bytes) {
      piece.bytes -= bytes;
      run = std::exchange(piece.free, piece.free + bytes);
      used_before = piece.used_before;
    }
  }
  if (run == nullptr) return take_free(bytes);
  if (used_before) std::memset(run, 0, bytes);
  return run;
}

/// Leaves the piece as it is if there is no other one so large. The caller has the mutex.
void SlabPool::renew(Piece& piece, std::size_t bytes) {
  Piece next{.free = take_of_free_runs(bytes), .bytes = bytes, .used_before = true};
  if (next.free == nullptr) next = {.free = region_.take(bytes), .bytes = bytes, .used_before = false};
  if (next.free == nullptr) return;
  // Where the system has no memory to list the rest of the former piece, nobody uses it any more.
  if (piece.bytes != 0) (void)add_free_run(piece.free, piece.bytes);
  piece = next;
}

/// Lets everybody have what the pieces have not used yet, because the region has nothing else left. The caller has the
/// mutex.
char* SlabPool::take_of_pieces(std::size_t bytes) {
  for (Piece& piece : pieces_) {
    if (piece.bytes == 0 || add_free_run(piece.free, piece.bytes)) piece = {};
  }
  return take_of_free_runs(bytes);
}

/// The caller has the mutex.
char* SlabPool::take_of_free_runs(std::size_t bytes) {
  char* const run = free_runs_.take(bytes);
  if (run != nullptr) free_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return run;
}

void SlabPool::age_shortage() {
  // A refusal that comes in between counts for a period less, which does no harm.
  const unsigned periods = shortage_.load(std::memory_order_relaxed);
  if (periods != 0) shortage_.store(periods - 1, std::memory_order_relaxed);
}

/// If the system has no memory to list a cut as free, the cut's blocks stay in their lists. So no block is in both.
std::uint64_t SlabPool::regain() {
  const std::lock_guard lock(mutex_);
  // By the extent in which a cut begins: a cut is one extent, or it is one block.
  const std::unique_ptr<std::uint16_t[]> free_blocks(new (std::nothrow) std::uint16_t[extent_class_.size()]());
  if (free_blocks == nullptr) return 0;
  const auto each_list = [this](auto&& visit) {
    for (std::size_t i = 0; i < spare_.size(); ++i) {
      if (may_change_class(static_cast<SlabKind>(i / kClasses))) visit(i % kClasses, spare_[i]);
    }
  };
  each_list([&](std::size_t, const std::vector<Blocks>& batches) {
    for (const Blocks& batch : batches) {
      for (const void* const block : batch) ++free_blocks[extent_of(block)];
    }
  });
  std::uint64_t bytes = 0;
  for (std::size_t extent = 0; extent < extent_class_.size(); ++extent) {
    if (free_blocks[extent] == 0) continue;
    const std::size_t class_index = extent_class_[extent];
    const std::size_t cut = cut_bytes(class_index), blocks_of_cut = cut / bytes_of(class_index);
    base::invariant("I3", free_blocks[extent] <= blocks_of_cut);
    if (free_blocks[extent] != blocks_of_cut || !give_back(region_.base() + (extent << kExtentShift), cut)) continue;
    free_blocks[extent] = kTaken;
    bytes += cut;
  }
  each_list([&](std::size_t, std::vector<Blocks>& batches) {
    for (Blocks& batch : batches)
      std::erase_if(batch, [&](const void* block) { return free_blocks[extent_of(block)] == kTaken; });
    std::erase_if(batches, [](const Blocks& batch) { return batch.empty(); });
  });
  return bytes;
}

void SlabPool::restore_reserve() {
  const std::uint64_t taken = std::min(reserved_.load(std::memory_order_relaxed), limit_bytes());
  const std::uint64_t reserve = std::min(options_.reserve_bytes, limit_bytes() - taken);
  if (reserve > reserve_bytes_.load(std::memory_order_relaxed))
    reserve_bytes_.store(reserve, std::memory_order_relaxed);
}

/// Takes back memory that was counted against the limit. Returns false, and changes nothing, if the system has no
/// memory to list it. The caller has the mutex.
bool SlabPool::give_back(char* run, std::size_t bytes) {
  if (!add_free_run(run, bytes)) return false;
  const std::uint64_t reserved = reserved_.fetch_sub(bytes, std::memory_order_relaxed);
  base::always_check(reserved >= bytes, "what is given back was taken");
  return true;
}

/// Does the same for memory that is not counted against the limit.
bool SlabPool::add_free_run(char* run, std::size_t bytes) {
  if (!free_runs_.add(run, bytes)) return false;
  free_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

char* SlabPool::take_run(std::size_t bytes) {
  if (bytes > limit_bytes()) return nullptr;
  return take(SlabKind::kNode, whole_extents(bytes), limit_for(Urgency::kNormal));
}

void SlabPool::give_run(char* run, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  (void)give_back(run, whole_extents(bytes));  // the run stays taken if the system has no memory to list it
}

char* SlabPool::take_extent(SlabKind kind, std::size_t class_index, Urgency urgency, std::size_t* bytes) {
  *bytes = cut_bytes(class_index);
  const std::uint64_t limit = limit_for(urgency);
  char* const extent = may_change_class(kind) ? take(kind, *bytes, limit) : take_lasting(kind, *bytes, limit);
  if (extent == nullptr) return nullptr;
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(extent) - base_) >> kExtentShift;
  for (std::size_t i = 0; i < *bytes >> kExtentShift; ++i) {
    extent_class_[first + i] = static_cast<std::uint8_t>(class_index);
    extent_kind_[first + i] = kind;
  }
  return extent;
}

bool SlabPool::is_block(SlabKind kind, std::size_t class_index, const void* block) const {
  const std::size_t extent = extent_of(block);
  const std::size_t at = (reinterpret_cast<std::uintptr_t>(block) - base_) % kExtentBytes;
  return extent_kind_[extent] == kind && extent_class_[extent] == class_index && at % bytes_of(class_index) == 0;
}

void SlabPool::give_batch(std::size_t list, Blocks&& batch) {
  const std::lock_guard lock(mutex_);
  spare_[list].push_back(std::move(batch));
}

bool SlabPool::take_batch(std::size_t list, Blocks* batch) {
  const std::lock_guard lock(mutex_);
  if (spare_[list].empty()) return false;
  *batch = std::move(spare_[list].back());
  spare_[list].pop_back();
  return true;
}

}  // namespace granary::memory
