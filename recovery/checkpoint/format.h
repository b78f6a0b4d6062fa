#pragma once
// Describes a checkpoint on disk, byte by byte (docs/checkpoint-format.md): a directory of partition files. Each has a
// header, blocks of records, a trailer as its last block, and zeros up to a whole disk block. Checksums cover all but
// the zeros.
//
// Partitions say nothing about keys: any block of any table may stand in any of them. So a checkpoint can be read by
// another number of threads than have written it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <granary/limits.h>

#include "src/base/file.h"
#include "src/epoch/epoch.h"
#include "src/log/format.h"
#include "src/txn/index_key.h"

namespace granary::recovery::checkpoint {

inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr std::uint32_t kMaxPartitions = 1024;

struct FileHeader {
  static constexpr std::array<char, 8> kMagic = {'G', 'R', 'A', 'N', 'C', 'K', 'P', '\n'};
  static constexpr std::uint32_t kByteOrder = 0x01020304;

  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kFormatVersion;
  std::uint32_t byte_order = kByteOrder;
  log::DatabaseId database{};
  std::uint64_t epoch = 0;  ///< the checkpoint holds exactly the transactions with an epoch < this
  log::Stamp stamp = 0;     ///< the same in all files of one checkpoint, and another in any other checkpoint
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  std::uint32_t reserved = 0;
  std::uint32_t crc = 0;  ///< CRC-32C of all before it

  std::uint32_t compute_crc() const;
  void seal() { crc = compute_crc(); }
};
static_assert(sizeof(FileHeader) == 64);

enum class BlockKind : std::uint32_t { kRecords = 1, kTrailer = 2 };

struct BlockHeader {
  BlockKind kind = BlockKind::kRecords;
  std::uint32_t table = 0;     ///< 0 in the trailer
  std::uint32_t records = 0;   ///< 0 in the trailer
  std::uint32_t bytes = 0;     ///< of the body alone
  std::uint32_t sequence = 0;  ///< counts the blocks of this file, from 0
  std::uint32_t crc = 0;       ///< CRC-32C of this header up to here and of the body, seeded with the file header's CRC
};
static_assert(sizeof(BlockHeader) == 24);

/// The body of the trailer, which counts what stands before it in this file.
struct Trailer {
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
};
static_assert(sizeof(Trailer) == 16);

/// Stands before each record of a block. The key and the value follow it.
struct RecordHeader {
  std::uint64_t tid = 0;  ///< as in a record's TID word, with status bits 0
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
};
static_assert(sizeof(RecordHeader) == 16);

/// A block is closed once its body has this many bytes, so it is larger by at most one record.
inline constexpr std::size_t kBlockBytes = std::size_t{256} * 1024;
inline constexpr std::size_t kMaxRecordBytes = sizeof(RecordHeader) + txn::kMaxEntryKeyBytes + kMaxValueBytes;
inline constexpr std::size_t kMaxBodyBytes = kBlockBytes + kMaxRecordBytes;

/// The length of a file is a multiple of this, so that it can be written without the page cache.
inline constexpr std::size_t kFileUnit = 4096;
static_assert(kFileUnit % base::kDirectBlock == 0);
/// Returns where a file ends if its trailer ends at `bytes`.
constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + kFileUnit - 1) / kFileUnit * kFileUnit; }

/// Returns the CRC that the block's header must hold in a file whose header has `file_crc`.
std::uint32_t block_crc(std::uint32_t file_crc, const BlockHeader& header, const char* body);

/// Returns the name of a partition's file, such as "part-0003.gckpt".
std::string partition_name(std::uint32_t partition);
bool is_partition_name(std::string_view name);

struct TableCount {
  std::uint64_t records = 0, bytes = 0;  ///< bytes of keys and values
  bool operator==(const TableCount&) const = default;
};

/// The contents of a checkpoint, as its writer and its reader count them.
struct Contents {
  epoch::Epoch epoch = 0;
  log::DatabaseId database{};
  log::Stamp stamp = 0;
  std::uint32_t partitions = 0;
  std::uint64_t blocks = 0;  ///< only those of records
  std::uint64_t records = 0;
  std::uint64_t file_bytes = 0;                ///< of all its files
  std::uint64_t older = 0;                     ///< when loaded: records that were older than a version already there
  std::uint64_t missing_bytes = 0;             ///< when loaded: the likely size of the records that found no memory
  std::map<std::uint32_t, TableCount> tables;  ///< by id; only tables with records

  /// Adds another part of the same checkpoint.
  void add(const Contents& part);
};

}  // namespace granary::recovery::checkpoint
