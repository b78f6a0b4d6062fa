#pragma once
// Keeps a worker's log ring in reliable memory. It is a shared file mapping: on /dev/shm it survives the process.
//
//   page 0    RingHeader
//   page 1…   the ring's bytes, a power of two, mapped twice in a row, so that an entry never wraps
//   …         of a node of a cluster: its lock-ahead record (src/log/lock_ahead.h)
//
// `tail` is written by the worker (release, after the entry's bytes) and read by the logger (acquire): the bytes before
// it are whole entries. `head` is written by the logger and read by the worker, who then may write over the bytes
// before it. The logger moves it only when these bytes are in the log and synced, because the ring may outlive a disk
// that has lost bytes that were not synced. Both count bytes since the ring was made and never wrap in practice (64
// bits).
//
// A position beside `head` says how far the log was synced when `head` moved. A recovery that finds the ring must find
// the log at least that far.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <granary/status.h>

#include "src/base/cache_line.h"
#include "src/base/check.h"
#include "src/log/format.h"
#include "src/log/lock_ahead.h"

namespace granary::log {

struct RingHeader {
  static constexpr std::array<char, 8> kMagic = {'G', 'R', 'A', 'N', 'R', 'N', 'G', '\n'};

  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kFormatVersion;
  std::uint32_t byte_order = SegmentHeader::kByteOrder;
  DatabaseId database{};
  std::uint64_t generation = 0;
  Stamp stamp = 0;  ///< of the generation
  std::uint64_t capacity = 0;
  std::uint32_t worker = 0;
  std::uint32_t logger = 0;  ///< the logger whose log gets the entries
  std::uint32_t crc = 0;     ///< of all before it
  /// How many rings the generation has. The number is written into all of them whenever one is added, so that a
  /// recovery notices if one is missing.
  std::atomic<std::uint32_t> rings{0};

  alignas(base::kCacheLine) std::atomic<std::uint64_t> tail{0};
  alignas(base::kCacheLine) std::atomic<std::uint64_t> head{0};
  /// Says which of `positions` counts. The logger writes the other one and then this word (release), before it moves
  /// head. Another process reads both after this one's end.
  std::atomic<std::uint64_t> position{0};
  struct SyncedPosition {
    std::atomic<std::uint64_t> sequence{0}, offset{0};
  };
  std::array<SyncedPosition, 2> positions;

  std::uint32_t compute_crc() const;
};

/// Returns the file name of a worker's ring, such as "ring-0007".
std::string ring_name(std::uint32_t worker);

class Ring {
 public:
  struct Identity {
    DatabaseId database{};
    std::uint64_t generation = 0;
    std::uint32_t worker = 0;
    std::uint32_t version = kFormatVersion;
    std::uint32_t logger = 0;
    Stamp stamp = 0;
  };
  /// Makes a new, empty ring in the file `path`, which must not be there. `capacity` is rounded up to a power of two.
  /// The file appears when it is whole. If the process is killed before that, `path`.new may stay, which the next
  /// creation removes.
  static Result<std::unique_ptr<Ring>> create(const std::string& path, const Identity& identity,
                                              std::uint64_t capacity);
  /// Opens the ring that a former process has left. Returns kDamaged if the file is no ring, or belongs to another
  /// database.
  static Result<std::unique_ptr<Ring>> open(const std::string& path, const DatabaseId& database);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  const RingHeader& header() const { return *header_; }
  std::uint64_t capacity() const { return capacity_; }
  /// Returns nullptr if the ring has no lock-ahead record.
  LockAheadArea* lock_ahead() { return lock_ahead_.slots() == 0 ? nullptr : &lock_ahead_; }
  /// Whether no lock is named: all transactions have ended, and have given all their locks back.
  bool all_given_back() const { return lock_ahead_.empty(); }
  /// Returns all bytes of the lock-ahead record.
  std::string_view lock_area() const;

  /// Stores how many rings there are; the caller has the log's mutex. Relaxed, since another process reads it after
  /// this one's end.
  void note_rings(std::uint32_t count) { header_->rings.store(count, std::memory_order_relaxed); }

  /// Returns how many bytes wait to be synced. Any thread may call it.
  std::uint64_t fill() const {
    const std::uint64_t head = header_->head.load(std::memory_order_acquire);
    return header_->tail.load(std::memory_order_acquire) - head;
  }

  // --- the worker ---
  /// Whether `bytes` (≤ capacity) may be written at the tail now.
  bool has_room(std::uint64_t bytes) {
    if (tail_ + bytes - known_head_ <= capacity_) return true;
    known_head_ = header_->head.load(std::memory_order_acquire);
    return tail_ + bytes - known_head_ <= capacity_;
  }
  /// Returns the place of the next entry, for which has_room() has found room.
  char* at_tail() { return data_ + (tail_ & (capacity_ - 1)); }
  /// Returns where an entry of `bytes` will end if it is published next.
  std::uint64_t end_after(std::uint64_t bytes) const { return tail_ + bytes; }
  /// Makes the entry of `bytes` at the tail visible to the logger, and safe from the process's death.
  void publish(std::uint64_t bytes) {
    published(bytes);
    header_->tail.store(tail_, std::memory_order_release);
  }
  /// Publishes inside an HTM region, through its `memory`. published() must follow once the region has committed.
  template <typename Memory>
  void publish_in(Memory& memory, std::uint64_t bytes) {
    memory.store(header_->tail, tail_ + bytes);
  }
  void published(std::uint64_t bytes) {
    tail_ += bytes;
    base::invariant("I19", tail_ - known_head_ <= capacity_);
  }

  // --- the logger ---
  /// Returns the whole entries that the logger has not drained yet.
  std::string_view undrained() const { return from(drained_); }
  /// Returns how many bytes the worker may not write over, drained or not.
  std::uint64_t held() const { return pending().size(); }
  /// Notes that the first `bytes` of undrained() are in the log file. They stay in the ring until they are synced.
  void drained(std::uint64_t bytes) {
    drained_ += bytes;
    base::invariant("I19", drained_ <= header_->tail.load(std::memory_order_relaxed));
  }
  /// Lets the worker write over all that was drained. It is on the device now, where the log is synced up to `synced`.
  ///
  /// The position is stored before head moves, and changes as a whole. So wherever the process dies between these
  /// stores, the log was synced up to the position, and every entry before head stands before the position in the log.
  void give_room(const Position& synced) {
    const std::uint64_t head = header_->head.load(std::memory_order_relaxed);
    if (drained_ == head) return;
    base::invariant("I19", drained_ > head);
    const std::uint64_t next = 1 - header_->position.load(std::memory_order_relaxed);
    header_->positions[next].sequence.store(synced.sequence, std::memory_order_relaxed);
    header_->positions[next].offset.store(synced.offset, std::memory_order_relaxed);
    header_->position.store(next, std::memory_order_release);
    header_->head.store(drained_, std::memory_order_release);
  }

  // --- recovery ---
  /// Returns the whole entries that the log may not have on the device.
  std::string_view pending() const { return from(header_->head.load(std::memory_order_relaxed)); }
  /// Returns the position up to which the log has been synced. The entries before pending() stand before it in the log.
  Position position() const {
    const auto& [sequence, offset] = header_->positions[header_->position.load(std::memory_order_acquire) & 1];
    return {sequence.load(std::memory_order_relaxed), offset.load(std::memory_order_relaxed)};
  }

 private:
  Ring(RingHeader* header, char* data, std::uint64_t capacity, std::uint64_t lock_slots)
      : header_(header),
        data_(data),
        capacity_(capacity),
        lock_ahead_(data + 2 * capacity, lock_slots) {}
  static Result<std::unique_ptr<Ring>> create_aside(const std::string& aside, const std::string& path,
                                                    const Identity& identity, std::uint64_t capacity);
  static Result<std::unique_ptr<Ring>> map(int descriptor, const std::string& path, std::uint64_t capacity,
                                           std::uint64_t lock_slots);

  std::string_view from(std::uint64_t count) const {
    const std::uint64_t tail = header_->tail.load(std::memory_order_acquire);
    return {data_ + (count & (capacity_ - 1)), tail - count};
  }

  RingHeader* const header_;
  char* const data_;
  const std::uint64_t capacity_;
  // The worker alone uses this.
  std::uint64_t tail_ = 0;
  std::uint64_t known_head_ = 0;
  LockAheadArea lock_ahead_;
  // Used by the logger alone: the entries before it are in the log file. head follows with the next sync, so it is
  // never greater.
  alignas(base::kCacheLine) std::uint64_t drained_ = 0;
};

}  // namespace granary::log
