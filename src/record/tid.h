#pragma once
// The TID word (Silo 4.2) holds the version and the lock of a record in 64 bits.
//
//   63                   30 29                   3   2      1       0
//  +-----------------------+----------------------+------+------+------+
//  |      epoch (34)       |    sequence (27)     |absent|latest|locked|
//  +-----------------------+----------------------+------+------+------+
//
// The TID proper is epoch and sequence; comparing whole TIDs (>> kStatusBits) orders versions of one record (I1). Every
// atomic that holds such a word says who writes it.
//
// The split into 34 and 27 bits has two reasons. 2^27 TIDs last for ten seconds of ten million commits each, so an
// epoch may stand still for as long as the cluster needs to remove a stopped node, and local writes go on meanwhile.
// 2^34 epochs of 40 ms are 21 years; E stops at the last of them (epoch::kLastEpoch).

#include <cstdint>

namespace granary::record {

using TidWord = std::uint64_t;

inline constexpr unsigned kStatusBits = 3;
inline constexpr unsigned kSequenceBits = 27;
inline constexpr unsigned kEpochBits = 34;
inline constexpr unsigned kEpochShift = kStatusBits + kSequenceBits;

inline constexpr TidWord kLocked = 1;
inline constexpr TidWord kLatest = 2;
inline constexpr TidWord kAbsent = 4;
/// The TID word of a placeholder: the index leads to it, but nobody has written it yet.
inline constexpr TidWord kUnborn = kAbsent | kLatest;
inline constexpr TidWord kStatusMask = kLocked | kLatest | kAbsent;
inline constexpr TidWord kSequenceMask = ((TidWord{1} << kSequenceBits) - 1) << kStatusBits;
inline constexpr TidWord kEpochMask = ~(kStatusMask | kSequenceMask);
inline constexpr std::uint64_t kMaxSequence = (std::uint64_t{1} << kSequenceBits) - 1;
inline constexpr std::uint64_t kMaxEpoch = (std::uint64_t{1} << kEpochBits) - 1;

static_assert(kStatusBits + kSequenceBits + kEpochBits == 64);
static_assert((kStatusMask ^ kSequenceMask ^ kEpochMask) == ~TidWord{0}, "the fields tile the word");
static_assert((kStatusMask & kSequenceMask) == 0 && (kSequenceMask & kEpochMask) == 0);

constexpr TidWord make_tid(std::uint64_t epoch, std::uint64_t sequence) {
  return (epoch << kEpochShift) | (sequence << kStatusBits);
}
constexpr std::uint64_t epoch_of(TidWord word) { return word >> kEpochShift; }
constexpr std::uint64_t sequence_of(TidWord word) { return (word & kSequenceMask) >> kStatusBits; }
/// Returns epoch and sequence without the status bits. Comparisons mean this by "the TID".
constexpr TidWord tid_of(TidWord word) { return word & ~kStatusMask; }
constexpr bool is_locked(TidWord word) { return (word & kLocked) != 0; }
constexpr bool is_latest(TidWord word) { return (word & kLatest) != 0; }
constexpr bool is_absent(TidWord word) { return (word & kAbsent) != 0; }

// These make TID words of a version for callers that need not know the status bits.

/// Returns the word of the version that a transaction with this TID has made, which is the latest of its key. If
/// `removed`, that version says that the key is absent.
constexpr TidWord version_word(TidWord tid, bool removed) { return tid | kLatest | (removed ? kAbsent : 0); }
constexpr TidWord locked(TidWord word) { return word | kLocked; }
constexpr TidWord unlocked(TidWord word) { return word & ~kLocked; }
/// Returns the word of a version whose place another version, or another record, has taken.
constexpr TidWord superseded(TidWord word) { return word & ~(kLocked | kLatest); }

}  // namespace granary::record
