#pragma once
// TicToc's rts (SIGMOD 2016, section 3) says until when a version of a local record is known to be valid. It lies in
// the upper bits of the record's size word, which hold the incarnation in shared records, and a lock under two-phase
// locking.
//
//   63          52 51             25    24     23           0
//  +--------------+-----------------+--------+--------------+
//  |  epoch (12)  |  sequence (27)  | frozen |  size (24)   |
//  +--------------+-----------------+--------+--------------+
//
// Two kinds of threads write the word. A reader that commits raises the rts by a compare-and-swap, unless the word is
// frozen. The holder of the record's lock freezes the word first, so that no reader can raise the rts after the holder
// has read it, and stores a new word, not frozen, before the new TID word.
//
// The word has only the low bits of the epoch. They mean the greatest epoch with these bits that is not after E. A
// reader loads the word, then E, and then the TID word, which must be unlocked. A writer reads E after its freeze. So
// both give the same meaning to an old word whose bits have come round; or the writer is in a later epoch, and its time
// is after the reader's in any case.

#include <cstdint>

#include "src/record/record.h"
#include "src/record/tid.h"

namespace granary::record {

inline constexpr unsigned kRtsEpochBits = 12;
inline constexpr unsigned kRtsEpochShift = 64 - kRtsEpochBits;
inline constexpr unsigned kRtsSequenceShift = kSizeBits + 1;
inline constexpr std::uint64_t kRtsEpochs = std::uint64_t{1} << kRtsEpochBits;
inline constexpr std::uint64_t kFrozen = std::uint64_t{1} << kSizeBits;
static_assert(kRtsSequenceShift + kSequenceBits == kRtsEpochShift, "the fields tile the word");

/// Returns the bits above the size of a word that has this rts and is not frozen.
constexpr std::uint64_t rts_bits(TidWord rts) {
  return (epoch_of(rts) << kRtsEpochShift) | (sequence_of(rts) << kRtsSequenceShift);
}
constexpr std::uint64_t with_rts(std::uint64_t size_word, TidWord rts) {
  return (size_word & kSizeMask) | rts_bits(rts);
}
constexpr bool is_frozen(std::uint64_t size_word) { return (size_word & kFrozen) != 0; }

/// Returns how many epochs the rts lies before `epoch`, as far as the word's bits tell.
constexpr std::uint64_t epochs_before(std::uint64_t size_word, std::uint64_t epoch) {
  return (epoch - (size_word >> kRtsEpochShift)) & (kRtsEpochs - 1);
}
/// Returns the rts, taken for the latest one with the word's bits that is not after `epoch`; 0 if there is none.
constexpr TidWord rts_of(std::uint64_t size_word, std::uint64_t epoch) {
  const std::uint64_t before = epochs_before(size_word, epoch);
  const TidWord sequence = ((size_word >> kRtsSequenceShift) << kStatusBits) & kSequenceMask;
  return before <= epoch ? make_tid(epoch - before, 0) | sequence : 0;
}

}  // namespace granary::record
