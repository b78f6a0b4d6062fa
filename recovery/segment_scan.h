#pragma once
// Makes an inventory of one segment: pieces to replay, markers, faults.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/segment_reader.h"
#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::recovery {

/// A run of whole entries of a segment, about a megabyte, which a replaying thread takes at once.
struct Chunk {
  std::uint64_t begin = 0, end = 0;              ///< offsets in the file
  epoch::Epoch first_epoch = 0, last_epoch = 0;  ///< the epochs of its transactions
  std::uint64_t unpacked = 0;                    ///< the bytes of its transactions' entries, unpacked
  bool behind_fault = false;                     ///< whether there is a fault before it in the segment
};

/// A fault, and what the markers around it say.
struct ScannedFault {
  Fault fault;
  std::optional<epoch::Epoch> complete_before, complete_after;  ///< by the nearest markers in this segment
};

struct ScannedSegment {
  SegmentName name;
  std::string path;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;    ///< the header's CRC, with which the entries' CRCs are seeded
  Status header;            ///< kDamaged if it is another segment than its name says
  bool unreadable = false;  ///< whether the device does not give back all of it; only with past_unreadable
  std::vector<Chunk> chunks;
  std::vector<ScannedFault> faults;
  std::optional<epoch::Epoch> complete_first;  ///< by the first marker
  std::optional<epoch::Epoch> complete;        ///< by the last marker before the first fault
  std::optional<epoch::Epoch> complete_any;    ///< by the last marker
  epoch::Epoch durable = 0;                    ///< the greatest D that a marker names
  epoch::Epoch released = 0;                   ///< the greatest released epoch that a marker names
  epoch::Epoch greatest_epoch = 0;             ///< the greatest of transactions and markers
  epoch::Epoch latest_transaction = 0;  ///< the greatest epoch of a transaction that concerns SegmentScanOptions::home
  std::uint64_t transactions = 0, markers = 0;
  bool named = false;     ///< whether a marker repeats the first one: the manifest named the generation by then
  std::uint64_t end = 0;  ///< the end of the part that can be read, before the first fault
  std::optional<std::uint64_t> continued_in;  ///< the sequence of the next segment, if this one names it
};

struct SegmentScanOptions {
  bool salvage = false;  ///< whether a segment with a damaged header is walked, too
  /// Whether a segment that the device does not give back whole is walked, too. Only with salvage.
  bool past_unreadable = false;
  /// This node's number if the segment is of another node's log, which is read for the writes of this node's records.
  /// Chunks without any such write are left out.
  std::optional<std::uint32_t> home{};
};

/// Walks the segment file at `path`. An error is one of reading; faults in the content are part of the result, and so
/// are, with SegmentScanOptions::past_unreadable, those of the device. `buffer` is memory to use.
Result<ScannedSegment> scan_segment(base::FileSystem& files, const std::string& path, const SegmentName& name,
                                    const log::SegmentHeader& expected, const SegmentScanOptions& options,
                                    FileBytes& buffer);

}  // namespace granary::recovery
