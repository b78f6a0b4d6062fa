#pragma once
// The state word of a shared record says which node holds the record, if any (DrTM, slides 28 to 35). Here the holder
// has a life, too (its generation), so that the locks of a dead node can be told from those of its next life.
//
//   0                                  free
//   63                        1    0
//  +----------------------------+-----+
//  | end of the lease in us (63) | 0  |  leased: readable by many, until then; under TicToc: the rts that other nodes
//  +----------------------------+-----+
//                                       have given it, a TID without status bits (src/cc/tictoc/shared_record.h)
//   63        52 51           36 35        28 27                   1    0
//  +------------+---------------+------------+----------------------+-----+
//  |  node (12) | generation 16 | worker (8) |     sequence (27)    |  1  |  x-locked
//  +------------+---------------+------------+----------------------+-----+
//
// Other nodes change the word by one-sided CAS and WRITE. The owner's CPU only ever loads it (I2), since many NICs
// promise atomicity among their own atomics alone.

#include <cstdint>

namespace granary::record {

using StateWord = std::uint64_t;

inline constexpr StateWord kFree = 0;
inline constexpr StateWord kXLocked = 1;

inline constexpr unsigned kHolderSequenceBits = 27;
inline constexpr unsigned kHolderWorkerBits = 8;
inline constexpr unsigned kHolderGenerationBits = 16;
inline constexpr unsigned kHolderNodeBits = 12;
static_assert(1 + kHolderSequenceBits + kHolderWorkerBits + kHolderGenerationBits + kHolderNodeBits == 64);

/// Names the holder of an x-lock. Fields count modulo their widths. A word repeats only after 2^27 locks of one worker.
/// No lock is held that long, even if it is given back late.
struct Holder {
  std::uint32_t node = 0;
  std::uint32_t generation = 0;
  std::uint32_t worker = 0;
  std::uint32_t sequence = 0;
  bool operator==(const Holder&) const = default;
};

constexpr bool is_x_locked(StateWord word) { return (word & kXLocked) != 0; }
/// Whether the word is a lease, even one that has ended.
constexpr bool is_lease(StateWord word) { return word != kFree && !is_x_locked(word); }

constexpr StateWord x_lock_word(const Holder& holder) {
  constexpr auto low = [](std::uint64_t value, unsigned bits) { return value & ((std::uint64_t{1} << bits) - 1); };
  StateWord word = low(holder.node, kHolderNodeBits);
  word = word << kHolderGenerationBits | low(holder.generation, kHolderGenerationBits);
  word = word << kHolderWorkerBits | low(holder.worker, kHolderWorkerBits);
  word = word << kHolderSequenceBits | low(holder.sequence, kHolderSequenceBits);
  return word << 1 | kXLocked;
}

/// Returns the holder that an x-lock word names. Messages name it, and recovery tells the locks of dead nodes by it.
constexpr Holder holder_of(StateWord word) {
  const auto take = [&word](unsigned bits) {
    const auto field = static_cast<std::uint32_t>(word & ((std::uint64_t{1} << bits) - 1));
    word >>= bits;
    return field;
  };
  take(1);
  Holder holder;
  holder.sequence = take(kHolderSequenceBits);
  holder.worker = take(kHolderWorkerBits);
  holder.generation = take(kHolderGenerationBits);
  holder.node = take(kHolderNodeBits);
  return holder;
}

constexpr StateWord lease_word(std::uint64_t end_us) { return end_us << 1; }
constexpr std::uint64_t lease_end_us(StateWord word) { return word >> 1; }

}  // namespace granary::record
