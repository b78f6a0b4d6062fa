#pragma once
// Lays out a bucket, of a main header or an indirect one: eight slots in three cache lines, so that one READ brings it.
//
//   line 0   closed | slot 0 | slot 1 | slot 2 | opened
//   line 1   closed | slot 3 | slot 4 | slot 5 | opened
//   line 2   closed | slot 6 | slot 7 | link | (unused) | opened
//
// A READ of a bucket may bring its lines in any order, and each line as it was at a different time. So every line of a
// chain (a bucket of the main header and the indirect headers linked to it) carries the version of the whole chain,
// which is odd while a change is under way and even otherwise. A change stores to `opened` first and to `closed` last
// of a line's words. A reader that reads in ascending order reads `closed` first and `opened` last. So equal even words
// mean that everything between them was there at that version, and equal words in all lines mean that the whole chain
// was there at once. With one version word for a bucket, a reader would miss an insert, whether the change stored that
// word first or last.
//
// The words of a slot:
//
//   key       64   the key itself, or the fingerprint of one that is not 8 bytes long
//   entry     63         50 49      48 47                                 0
//            +-------------+----------+------------------------------------+
//            | lossy inc.  |   type   |   offset in the region (48)        |
//            +-------------+----------+------------------------------------+

#include <array>
#include <cstdint>

#include "src/base/cache_line.h"
#include "src/base/shared_words.h"

namespace granary::kvstore::hash {

/// The kinds of entries in the slots and the link of a bucket. The entry of a key that is not 8 bytes long is kNamed:
/// it leads to the key's Name.
enum class EntryType : std::uint8_t { kUnused, kHeader, kRecord, kNamed };

inline constexpr unsigned kOffsetBits = 48;
inline constexpr unsigned kTypeBits = 2;
inline constexpr unsigned kIncarnationBits = 14;
inline constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;
inline constexpr std::uint64_t kTypeMask = ((std::uint64_t{1} << kTypeBits) - 1) << kOffsetBits;
inline constexpr std::uint64_t kIncarnationMask = ((std::uint64_t{1} << kIncarnationBits) - 1)
                                                  << (kOffsetBits + kTypeBits);
static_assert(kOffsetBits + kTypeBits + kIncarnationBits == 64);
static_assert((kOffsetMask ^ kTypeMask ^ kIncarnationMask) == ~std::uint64_t{0}, "the fields tile the word");

/// The second word of a slot, or a link.
class Entry {
 public:
  constexpr Entry() = default;
  constexpr explicit Entry(std::uint64_t word) : word_(word) {}
  /// Keeps only the low bits of the incarnation, which are enough to notice most reuses of a place without reading it.
  constexpr Entry(EntryType type, std::uint64_t offset, std::uint64_t incarnation)
      : word_((offset & kOffsetMask) | (std::uint64_t{static_cast<std::uint8_t>(type)} << kOffsetBits) |
              (incarnation << (kOffsetBits + kTypeBits))) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr EntryType type() const { return static_cast<EntryType>((word_ & kTypeMask) >> kOffsetBits); }
  constexpr std::uint64_t offset() const { return word_ & kOffsetMask; }
  constexpr std::uint64_t incarnation() const { return word_ >> (kOffsetBits + kTypeBits); }

 private:
  std::uint64_t word_ = 0;
};

inline constexpr unsigned kSlots = 8;
inline constexpr unsigned kLines = 3;
inline constexpr unsigned kSlotsOfLine = 3;  ///< but two in the last line

struct Slot {
  std::uint64_t key;
  std::uint64_t entry;
};

// The holder of the chain's lock writes all words with release stores; readers use acquire loads. `opened` of line 0 of
// the main header's bucket is that lock as well, and is taken by a CAS.
struct alignas(base::kCacheLine) Line {
  std::uint64_t closed;
  std::array<Slot, kSlotsOfLine> slots;  // in line 2, the first word of the last slot is the link
  std::uint64_t opened;
};
static_assert(sizeof(Line) == base::kCacheLine);

constexpr unsigned slots_in(unsigned line) { return line == kLines - 1 ? kSlots % kSlotsOfLine : kSlotsOfLine; }

struct Bucket {
  std::array<Line, kLines> lines;

  Slot& slot(unsigned number) { return lines[number / kSlotsOfLine].slots[number % kSlotsOfLine]; }
  const Slot& slot(unsigned number) const { return lines[number / kSlotsOfLine].slots[number % kSlotsOfLine]; }
  /// Returns the link to the next indirect header. It is set once, under the lock, and never changes before the table
  /// is rebuilt.
  std::uint64_t& link() { return lines[kLines - 1].slots[kSlotsOfLine - 1].key; }
  const std::uint64_t& link() const { return lines[kLines - 1].slots[kSlotsOfLine - 1].key; }
};
static_assert(sizeof(Bucket) == kLines * base::kCacheLine);

constexpr bool is_odd(std::uint64_t version) { return (version & 1) != 0; }

}  // namespace granary::kvstore::hash
