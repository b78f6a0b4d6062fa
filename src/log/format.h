#pragma once
// Describes the log on disk, byte by byte (docs/log-format.md): segments begin with a header and go on with entries.
//
// All numbers are little-endian. An entry is a 16-byte header and a body, padded with zeros to 8 bytes:
//
//   0   u32  bytes of the body, without padding
//   4   u32  CRC-32C of bytes 8… to the end of the body, seeded with the segment's own CRC, so that an entry of another
//            segment, logger or database does not pass
//   8   u64  TID of the transaction in bits 3 to 63, as in a record's TID word; bits 0 to 2: what the entry is
//
// The same entries, without a CRC, stand in the rings (src/log/ring.h).

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace granary::log {

/// The format versions of segments and rings. A database alone has kFormatVersion. A node of a cluster has another,
/// because its transactions also write records of other nodes, and its rings have a lock-ahead record.
inline constexpr std::uint32_t kFormatVersion = 9;
inline constexpr std::uint32_t kClusterFormatVersion = 10;
/// The versions that releases without writes of parts wrote: a database alone, the segments of a node, the rings of a
/// node. They are read like the present versions, since nothing else differs. Only the present versions are written, so
/// a release that knows no parts never meets any.
inline constexpr std::uint32_t kFormerVersion = 6;
inline constexpr std::uint32_t kFormerClusterVersion = 7;
inline constexpr std::uint32_t kFormerClusterRingVersion = 8;

/// Lists the versions that a segment may have.
inline constexpr std::array<std::uint32_t, 4> kSegmentVersions = {kFormatVersion, kClusterFormatVersion, kFormerVersion,
                                                                  kFormerClusterVersion};

constexpr bool is_segment_version(std::uint32_t version) {
  return std::ranges::find(kSegmentVersions, version) != kSegmentVersions.end();
}
constexpr bool has_lock_ahead(std::uint32_t ring_version) {
  return ring_version == kClusterFormatVersion || ring_version == kFormerClusterRingVersion;
}
constexpr bool is_ring_version(std::uint32_t version) {
  return version == kFormatVersion || version == kFormerVersion || has_lock_ahead(version);
}
inline constexpr std::size_t kAlignment = 8;
inline constexpr std::uint32_t kRemoved = ~std::uint32_t{0};

using DatabaseId = std::array<unsigned char, 16>;
/// Returns the id as 32 hexadecimal digits.
std::string to_text(const DatabaseId& id);

/// A random word that each opening chooses for its generation, and each checkpoint for itself. If a database is copied
/// and both copies go on, they use the same generation numbers, and only the stamps tell their files apart. A stamp is
/// never 0, which stands for any.
using Stamp = std::uint64_t;
Stamp new_stamp();
/// Returns the stamp as 16 hexadecimal digits.
std::string stamp_text(Stamp stamp);

constexpr std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

enum class EntryKind : std::uint8_t {
  kNone = 0,         ///< never written; a file that was extended with zeros shows it
  kTransaction = 1,  ///< body: writes, one after the other
  kMarker = 2,       ///< body: Marker
  kPacked = 3,       ///< body: PackedHeader, then compressed transaction entries (their CRC fields zero)
  kContinues = 4,    ///< body: Continues; the last entry of a segment
};

struct EntryHeader {
  std::uint32_t body_bytes;
  std::uint32_t crc;
  std::uint64_t tid_and_kind;

  EntryKind kind() const { return static_cast<EntryKind>(tid_and_kind & 7); }
  std::uint64_t tid() const { return tid_and_kind & ~std::uint64_t{7}; }
  /// Returns the size of the whole entry with its padding.
  std::size_t bytes() const { return padded(sizeof(EntryHeader) + body_bytes); }
};
static_assert(sizeof(EntryHeader) == 16);

/// The header of each write in a transaction's body. The key and the value follow it, and there is no padding between
/// writes.
struct WriteHeader {
  /// The table's number, with two mark bits. With kElsewhere, the record is another node's, and the number of that
  /// node, a u32, stands between this header and the key. With kPart, a PartHeader stands there.
  std::uint32_t table;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;  ///< kRemoved: the key is removed, no value follows
};
static_assert(sizeof(WriteHeader) == 12);
inline constexpr std::uint32_t kElsewhere = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kPart = std::uint32_t{1} << 30;

/// Follows the header of a write to a part of a value. The write's bytes, at least one, replace as many bytes of the
/// value from `from` on. The value has `whole_bytes` in all, and its other bytes stay as they were in the record's
/// previous version.
struct PartHeader {
  std::uint32_t from;
  std::uint32_t whole_bytes;
};
static_assert(sizeof(PartHeader) == 8);

/// Says that every transaction of this logger's workers with an epoch ≤ `complete` stands before the marker, in this
/// segment or an earlier one of the same logger and generation.
struct Marker {
  std::uint64_t complete;
  std::uint64_t durable;  ///< the D that was known then: no logger's `complete` may turn out to be less
  /// The cluster's D that was known then: no node's D may turn out to be less. It is 0 without a cluster.
  std::uint64_t released;
};
static_assert(sizeof(Marker) == 24);
/// Markers of former releases end before `released`.
inline constexpr std::size_t kFormerMarkerBytes = 16;
/// How far the epochs of entries before a marker may exceed the marker's `complete`. No later entry stands before it,
/// because E was at most this far ahead when the logger asked which epoch is complete.
inline constexpr std::uint64_t kAheadOfMarker = 2;

/// Says that the log goes on in the segment `sequence`, which was on the device before this entry was written. So a
/// segment that ends with such an entry is not the last one.
struct Continues {
  std::uint64_t sequence;
};
static_assert(sizeof(Continues) == 8);

/// A place in one logger's log: `offset` bytes into the file of its segment `sequence`. Positions are ordered as the
/// log is.
struct Position {
  std::uint64_t sequence = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const Position&) const = default;
};

enum class Codec : std::uint32_t { kLz4 = 1, kZstd = 2 };

struct PackedHeader {
  Codec codec;
  std::uint32_t raw_bytes;
};
static_assert(sizeof(PackedHeader) == 8);

/// Begins each segment. A generation is the time from one opening of the database to the next.
struct SegmentHeader {
  static constexpr std::array<char, 8> kMagic = {'G', 'R', 'A', 'N', 'L', 'O', 'G', '\n'};
  static constexpr std::uint32_t kByteOrder = 0x01020304;

  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kFormatVersion;
  std::uint32_t byte_order = kByteOrder;
  DatabaseId database{};
  Stamp stamp = 0;  ///< of the generation
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;  ///< counts this logger's segments in this generation, from 0
  std::uint32_t logger = 0;
  std::uint32_t crc = 0;  ///< CRC-32C of all before it

  std::uint32_t compute_crc() const;
  void seal() { crc = compute_crc(); }
};
static_assert(sizeof(SegmentHeader) == 64);

/// Returns the file name of a segment, such as "log-g00000003-l02-s00000005.glog": generation 3, logger 2, sequence 5.
std::string segment_name(std::uint64_t generation, std::uint32_t logger, std::uint64_t sequence);

/// Returns the CRC that the entry's header must hold in a segment whose header has this CRC.
std::uint32_t entry_crc(std::uint32_t segment_crc, const char* entry, std::size_t body_bytes);

/// One write, as it stands in a transaction's body.
struct Write {
  std::uint32_t table = 0;
  bool removed = false;
  std::string_view key, value;
  std::optional<std::uint32_t> home = std::nullopt;  ///< the node whose record it is, if not the log's own
  std::optional<PartHeader> part = std::nullopt;     ///< says which part of a value `value` is, if it is not all of it

  /// Returns the size of the value that the write leaves.
  std::size_t bytes_after() const { return part ? part->whole_bytes : value.size(); }
};

/// Walks the writes of a body. It is safe on any bytes: it stops with malformed() where they are no writes.
class WriteReader {
 public:
  explicit WriteReader(std::string_view body) : rest_(body) {}
  /// Reads the next write. Returns false at the end, or where the body is malformed.
  bool next(Write* write);
  bool malformed() const { return malformed_; }

 private:
  template <typename Plain>
  bool take(Plain* plain);
  bool take_marked(const WriteHeader& header, Write* write);

  std::string_view rest_;
  bool malformed_ = false;
};

/// Returns the size of a write in a body.
constexpr std::size_t write_bytes(std::size_t key_bytes, std::size_t value_bytes, bool elsewhere = false) {
  return sizeof(WriteHeader) + (elsewhere ? sizeof(std::uint32_t) : 0) + key_bytes + value_bytes;
}
/// Returns the size in a body of a write to a part of so many bytes.
constexpr std::size_t part_write_bytes(std::size_t key_bytes, std::size_t part_bytes) {
  return write_bytes(key_bytes, part_bytes) + sizeof(PartHeader);
}

}  // namespace granary::log
