#pragma once
// Keeps the lock-ahead record (I10). It names the records of other nodes that a worker's transactions may hold
// x-locked, each with the word of its x-lock, and says which of these transactions are decided. It lies in the worker's
// ring file behind the ring's bytes, so it survives the process as they do; loggers never look at it. The node's
// recovery reads it (recovery/lock_ahead.h):
//
//   SlotHeader × slots   what is in the blocks of the same number and perhaps some that follow
//   block × slots        512 bytes each: LockHeader, key, padding to 8 bytes, one lock after the other
//
// A transaction takes blocks that follow each other. Before it posts the first CAS, it writes its locks into the
// blocks, and then their bytes into the header of the first block. It takes more blocks if it locks more later. When
// the last x-lock has been given back, whether the record was changed or not, `named` becomes 0: that is the completion
// mark.
//
// Recovery acts on other nodes' records by these words, so a changed bit must not pass. The locks have a checksum,
// which stands in the same word as their length: one store names a lock and makes it count. The decision has a
// checksum, too. No single changed bit turns a word that counts into 0, which would make recovery forget the locks, or
// the decision.
//
// After the process was killed, the words are whole, since every store here is a release store: the compiler moves none
// in front of an earlier one, a processor's stores reach memory in program order (x86-64), and stores that were
// executed reach it whatever becomes of the process. So `named` counts no lock that is not there in full, and no lock
// of a former transaction stands over the locks of the next. The CAS is posted by a release as well (shm: by the atomic
// itself; verbs: by the doorbell).
//
// A transaction is decided when the ring holds its entry (I8). That takes one store, that of `tail`. `log_end` is
// stored before it and says where the entry ends in the ring. So the transaction is decided exactly if log_end is
// announced and tail has reached it, at whatever instruction the process ends. One worker is one thread, and it
// publishes nothing else between the two stores.

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/crc32c.h"
#include "src/epoch/control_block.h"
#include "src/log/format.h"

namespace granary::log {

/// Describes the run of blocks that begins at the block with the same number. Written by the worker, read after its
/// process has ended.
struct SlotHeader {
  std::atomic<std::uint64_t> named;  ///< named_word(); 0: no lock is named, and nothing else here counts
  /// The place in the ring where the transaction's entry ends, with the bits of kAnnounced. It is 0 if there is no
  /// entry yet.
  std::atomic<std::uint64_t> log_end;
  std::atomic<std::uint64_t> tid;    ///< counts only if log_end is announced, as does `check`
  std::atomic<std::uint64_t> check;  ///< decision_check()
};
static_assert(sizeof(SlotHeader) == 32);

/// Returns the size of the named locks in bytes, with the CRC of these bytes in the upper half.
constexpr std::uint64_t named_word(std::uint32_t bytes, std::uint32_t crc) { return std::uint64_t{crc} << 32 | bytes; }
constexpr std::uint32_t bytes_of_named(std::uint64_t named) { return static_cast<std::uint32_t>(named); }
constexpr std::uint32_t crc_of_named(std::uint64_t named) { return static_cast<std::uint32_t>(named >> 32); }

/// Marks an announced end, to tell it from 0. An entry ends on a boundary of kAlignment, so these bits are free.
inline constexpr std::uint64_t kAnnounced = kAlignment - 1;

inline std::uint64_t decision_check(std::uint64_t tid, std::uint64_t announced_end) {
  const std::uint64_t words[] = {tid, announced_end};
  return base::crc32c(0, words, sizeof words);
}

struct LockHeader {
  std::uint64_t word;          ///< the word of the x-lock (src/record/state_word.h)
  std::uint64_t state_offset;  ///< the offset of the state word in the home's region of records
  std::uint32_t node;          ///< the record's home
  std::uint32_t table;         ///< the record's table, which has the same number on all nodes
  std::uint32_t key_bytes;     ///< the key follows, and zeros up to 8 bytes
  std::uint32_t reserved;
};
static_assert(sizeof(LockHeader) == 32);

/// Names one x-lock of a transaction. The CAS may hit another key's record, if the location was out of date. Such a
/// lock is given back at once. If the node dies before that, recovery finds the record by its offset, not by its key.
struct NamedLock {
  std::uint64_t word = 0;
  std::uint32_t node = 0;
  std::uint32_t table = 0;
  std::string_view key;
  std::uint64_t state_offset = 0;
};

inline constexpr std::uint64_t kLockBlockBytes = 512;

constexpr std::uint64_t named_bytes(std::size_t key_bytes) { return sizeof(LockHeader) + (key_bytes + 7) / 8 * 8; }

/// Returns how many blocks lie beside a ring of so many bytes. A transaction whose locks need more would hardly fit
/// into the ring.
constexpr std::uint64_t lock_slots(std::uint64_t ring_capacity) {
  constexpr std::uint64_t kLeast = 256;
  constexpr std::uint64_t kShare = 4096;
  return ring_capacity / kShare < kLeast ? kLeast : ring_capacity / kShare;
}
/// Returns the size of the area beside such a ring, a multiple of a page.
constexpr std::uint64_t lock_area_bytes(std::uint64_t ring_capacity) {
  return lock_slots(ring_capacity) * (sizeof(SlotHeader) + kLockBlockBytes);
}

/// The area of one worker. Its thread alone uses it, for all of its transactions.
class LockAheadArea {
 public:
  /// `memory` is a new area of so many slots, which is zero, or a former one that is only read.
  LockAheadArea(char* memory, std::uint64_t slots) : memory_(memory), taken_(slots) {}

  /// Takes `count` neighbouring free slots and returns the first. Returns slots() if there are no such slots.
  std::uint64_t take(std::uint64_t count);
  void give_back(std::uint64_t first, std::uint64_t count);

  std::uint64_t slots() const { return taken_.size(); }
  SlotHeader& header(std::uint64_t slot) const { return reinterpret_cast<SlotHeader*>(memory_)[slot]; }
  char* block(std::uint64_t slot) const { return memory_ + slots() * sizeof(SlotHeader) + slot * kLockBlockBytes; }
  /// Whether no slot is taken, so that no lock is named.
  bool empty() const;
  /// Returns the least epoch of a decided transaction that still has a named lock, or ~0 if there is none. Any thread
  /// may call it. It may miss a transaction that is decided meanwhile, and may see a former transaction of a slot
  /// instead of the present one.
  epoch::Epoch oldest_decided() const;

 private:
  char* const memory_;
  std::vector<std::uint8_t> taken_;  ///< 1: the slot is taken
};

/// The locks that one transaction has named in the area. They stay named until complete(). If this object ends before
/// that, only the object forgets them, not the area.
class NamedLocks {
 public:
  /// `area` is none if nothing is logged. Then nothing is named, and there is always room.
  explicit NamedLocks(LockAheadArea* area) : area_(area) {}
  /// `other` names nothing afterwards.
  NamedLocks(NamedLocks&& other) noexcept : area_(other.area_), runs_(std::exchange(other.runs_, {})) {}
  NamedLocks(const NamedLocks&) = delete;
  NamedLocks& operator=(const NamedLocks&) = delete;

  bool logs() const { return area_ != nullptr; }
  /// Reserves room for locks of `bytes` (named_bytes()). Returns false if the area has no room for them.
  [[nodiscard]] bool reserve(std::uint64_t bytes);
  /// Writes the lock into room that reserve() has found. It counts from publish() on.
  void add(const NamedLock& lock);
  void publish();

  /// Announces that the log entry will end at `log_end`. Called right before the entry is published.
  void announce_decision(std::uint64_t tid, std::uint64_t log_end);
  /// Undoes announce_decision(). Nothing may have been published in between.
  void take_back_announcement();
  /// Sets the completion mark: all locks have been given back.
  void complete();

 private:
  struct Run {
    std::uint64_t first;
    std::uint64_t count;  ///< of slots
    std::uint64_t bytes;  ///< written, published or not
    std::uint32_t crc;    ///< of these
    std::uint64_t room() const { return count * kLockBlockBytes - bytes; }
  };

  LockAheadArea* area_;
  std::vector<Run> runs_;
};

}  // namespace granary::log
