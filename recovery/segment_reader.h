#pragma once
// Reads one segment of the log, transaction by transaction, and tells precisely where its bytes are not as written.
//
// It is safe on any bytes (I26). It hands out only entries that passed the segment's checksums, and entries after a
// fault only once the fault was reported.

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "recovery/entry_check.h"
#include "src/base/file.h"
#include "src/log/format.h"

namespace granary::recovery {

struct Manifest;

/// The parts of a segment's name (log::segment_name).
struct SegmentName {
  std::uint64_t generation = 0;
  std::uint32_t logger = 0;
  std::uint64_t sequence = 0;
  auto operator<=>(const SegmentName&) const = default;
};
std::optional<SegmentName> parse_segment_name(std::string_view name);

/// Returns the header that a whole segment with this name begins with, in the version of a database alone. With `stamp`
/// 0, any stamp fits.
log::SegmentHeader expected_header(const log::DatabaseId& database, const SegmentName& name, log::Stamp stamp = 0);
/// Returns that header with the database and the stamp that the manifest names. If the manifest lacks the generation,
/// any stamp fits.
log::SegmentHeader expected_header(const Manifest& manifest, const SegmentName& name);

/// Bytes that the device does not give back.
struct Unreadable {
  std::uint64_t begin = 0, end = 0;  ///< offsets in the file
  std::string cause;
};

/// Holds one file, or a part of one, after the other in the same memory.
class FileBytes {
 public:
  /// Reads `bytes` from `offset`, or all that there are if that is less. Returns kResourceExhausted if there is no
  /// memory.
  Status load(base::File& file, const std::string& path, std::uint64_t offset = 0,
              std::uint64_t bytes = ~std::uint64_t{0});
  /// Reads as load() does, with zeros for what the device does not give back. Returns these places, in ascending order.
  Result<std::vector<Unreadable>> load_readable(base::File& file, const std::string& path, std::uint64_t offset = 0,
                                                std::uint64_t bytes = ~std::uint64_t{0});
  std::string_view view() const { return {buffer_.get(), size_}; }

 private:
  std::unique_ptr<char[]> buffer_;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

/// A place where the bytes are not those that were written.
struct Fault {
  std::uint64_t offset = 0;
  std::string cause;
  std::optional<std::uint64_t> next;  ///< where valid entries begin again; none: nothing valid follows, a torn tail
};

class SegmentReader {
 public:
  /// The result of next(). If only zeros follow up to the end of the file, they are its end, since a segment is written
  /// in whole blocks.
  enum class Found { kTransaction, kMarker, kContinues, kFault, kEnd };
  /// The judgement of the segment as far as it was read.
  enum class Verdict { kClean, kTornTail, kDamaged };

  /// Opens a segment; `bytes` are the whole file. Returns kDamaged if it does not begin with this header, naming the
  /// file, the field, and its found and expected values. With `ignore_header`, entries are looked for even so, of any
  /// version if the header tells none. A header that was never written is a fault at offset 0, not an error.
  static Result<SegmentReader> open(std::string_view bytes, const std::string& path, const log::SegmentHeader& expected,
                                    bool ignore_header = false);

  Found next();

  // These may be called after kTransaction, kMarker and kContinues.
  std::uint64_t tid() const { return entry_.header.tid(); }
  /// Returns the transaction's writes. They are valid until next() comes to another packed entry.
  std::string_view body() const { return entry_.body; }
  log::Marker marker() const;
  /// Returns, after kContinues, the sequence of the segment in which the log goes on.
  std::uint64_t next_segment() const;
  /// Returns the size of the transaction's entry; for a packed transaction, as it is when it is unpacked.
  std::uint64_t entry_bytes() const { return entry_.header.bytes(); }
  /// Returns where the entry stands in the file; for a packed transaction, where the packed entry stands.
  std::uint64_t offset() const { return offset_; }
  /// Returns where the next entry of the file begins, or the fault if there is one; after kEnd, where the entries end.
  std::uint64_t position() const { return at_; }
  /// Whether more entries of the same packed entry follow.
  bool inside_packed() const { return !packed_.empty(); }

  const Fault& fault() const { return fault_; }  ///< may be called after kFault
  Verdict verdict() const { return verdict_; }
  std::uint32_t segment_crc() const { return segment_crc_; }

 private:
  SegmentReader(std::string_view bytes, std::uint32_t segment_crc)
      : bytes_(bytes),
        segment_crc_(segment_crc),
        search_budget_(64 * bytes.size() + (std::uint64_t{1} << 20)) {}
  Found next_packed();
  Found fail(const char* cause);
  std::optional<std::uint64_t> find_valid(std::uint64_t from, bool* gave_up);
  static log::SegmentHeader with_version_of_entries(std::string_view bytes, log::SegmentHeader header);

  std::string_view bytes_;
  std::uint32_t segment_crc_;
  std::uint64_t search_budget_;  // how many bytes may still be summed up in the search for valid entries
  std::uint64_t at_ = sizeof(log::SegmentHeader);
  std::uint64_t offset_ = 0;
  Entry entry_;
  Unpacker unpacker_;
  EntryList packed_;
  Fault fault_;
  Verdict verdict_ = Verdict::kClean;
  bool header_missing_ = false;
};

}  // namespace granary::recovery
