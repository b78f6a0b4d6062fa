#include "recovery/checkpoint/partition_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/test_hooks.h"
#include "src/record/tid.h"
#include "src/txn/index_key.h"

namespace granary::recovery::checkpoint {
namespace {

bool checksum_matters() { return !base::injected("skip-checksum"); }

}  // namespace

Result<std::unique_ptr<PartitionReader>> PartitionReader::open(base::FileSystem& files, std::string path) {
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  std::unique_ptr<PartitionReader> reader(new PartitionReader(std::move(*file), std::move(path)));
  const Status read = reader->read_header();
  if (!read.ok()) return read;
  return reader;
}

Status PartitionReader::damaged(std::uint64_t offset, std::string_view what) const {
  return {StatusCode::kDamaged, fmt::format("'{}', offset {}: {}", path_, offset, what)};
}

Status PartitionReader::read(std::uint64_t offset, std::span<char> bytes, std::string_view what) {
  const auto got = file_->read_at(offset, bytes);
  if (!got.ok()) return got.status();
  if (*got == bytes.size()) return {};
  return damaged(offset, fmt::format("the file ends {} bytes into {}, expected {} bytes; a whole checkpoint file ends "
                                     "with a trailer",
                                     *got, what, bytes.size()));
}

Status PartitionReader::read_header() {
  const Status got = read(0, {reinterpret_cast<char*>(&header_), sizeof header_}, "the file header");
  if (!got.ok()) return got;
  if (header_.magic != FileHeader::kMagic) return damaged(0, "not a checkpoint file: it does not begin with 'GRANCKP'");
  if (header_.byte_order != FileHeader::kByteOrder) {
    return damaged(offsetof(FileHeader, byte_order),
                   fmt::format("byte order {:#010x}, expected {:#010x}", header_.byte_order, FileHeader::kByteOrder));
  }
  if (header_.version != kFormatVersion) {
    return damaged(offsetof(FileHeader, version),
                   fmt::format("checkpoint format version {}, expected {}", header_.version, kFormatVersion));
  }
  if (const std::uint32_t crc = header_.compute_crc(); crc != header_.crc && checksum_matters()) {
    return damaged(0, fmt::format("the file header's checksum is {:#010x}, expected {:#010x}", header_.crc, crc));
  }
  if (header_.partitions == 0 || header_.partitions > kMaxPartitions || header_.partition >= header_.partitions) {
    return damaged(offsetof(FileHeader, partition),
                   fmt::format("partition {} of {}, expected less than that, and at most {} in all", header_.partition,
                               header_.partitions, kMaxPartitions));
  }
  offset_ = sizeof header_;
  return {};
}

Result<bool> PartitionReader::next(Block* block) {
  const std::lock_guard lock(mutex_);
  if (!failed_.ok()) return failed_;
  if (ended_) return false;
  Result<bool> got = read_block(block);
  if (!got.ok()) failed_ = got.status();
  return got;
}

Result<bool> PartitionReader::read_block(Block* block) {
  BlockHeader& header = block->header;
  const Status began = read(offset_, {reinterpret_cast<char*>(&header), sizeof header}, "a block header");
  if (!began.ok()) return began;
  if (const Status fits = check_header(header); !fits.ok()) return fits;
  if (block->body.size() < header.bytes) block->body.resize(std::max<std::size_t>(header.bytes, kBlockBytes));
  const Status got = read(offset_ + sizeof header, std::span<char>(block->body).first(header.bytes), "a block's body");
  if (!got.ok()) return got;
  const std::uint32_t crc = block_crc(header_.crc, header, block->body.data());
  if (crc != header.crc && checksum_matters()) {
    return damaged(offset_,
                   fmt::format("the checksum of block {} is {:#010x}, expected {:#010x}: damaged, or of another "
                               "file",
                               blocks_, header.crc, crc));
  }
  block->offset = offset_;
  if (header.kind == BlockKind::kTrailer) {
    Trailer trailer;
    std::memcpy(&trailer, block->body.data(), sizeof trailer);
    if (const Status ends = check_end(trailer); !ends.ok()) return ends;
    offset_ = padded(offset_ + sizeof header + header.bytes);
    ended_ = true;
    return false;
  }
  offset_ += sizeof header + header.bytes;
  ++blocks_;
  records_ += header.records;
  return true;
}

/// Checks the header as far as it can be checked before the checksum, so that reading the body is safe.
Status PartitionReader::check_header(const BlockHeader& header) const {
  if (header.kind != BlockKind::kRecords && header.kind != BlockKind::kTrailer) {
    return damaged(offset_,
                   fmt::format("a block of kind {}, expected 1 or 2", static_cast<std::uint32_t>(header.kind)));
  }
  if (header.sequence != blocks_) {
    return damaged(offset_, fmt::format("block {} where block {} should be", header.sequence, blocks_));
  }
  if (header.kind == BlockKind::kTrailer && (header.bytes != sizeof(Trailer) || header.records != 0)) {
    return damaged(offset_, fmt::format("a trailer of {} bytes and {} records, expected {} and none", header.bytes,
                                        header.records, sizeof(Trailer)));
  }
  if (header.bytes > kMaxBodyBytes) {
    return damaged(offset_, fmt::format("a block of {} bytes, expected at most {}", header.bytes, kMaxBodyBytes));
  }
  return {};
}

Status PartitionReader::check_end(const Trailer& trailer) {
  if (trailer.blocks != blocks_ || trailer.records != records_) {
    return damaged(offset_, fmt::format("the trailer counts {} records in {} blocks, found are {} in {}",
                                        trailer.records, trailer.blocks, records_, blocks_));
  }
  return check_padding(offset_ + sizeof(BlockHeader) + sizeof(Trailer));
}

/// Checks that the file ends with zeros after the trailer, which ends at `from`.
Status PartitionReader::check_padding(std::uint64_t from) {
  const std::uint64_t end = padded(from);
  const auto size = file_->size();
  if (!size.ok()) return size.status();
  if (*size != end) {
    return damaged(std::min(*size, end), fmt::format("the file has {} bytes, expected {}: its trailer and zeros up to "
                                                     "a multiple of {}",
                                                     *size, end, kFileUnit));
  }
  std::array<char, kFileUnit> zeros;
  const std::span<char> padding = std::span(zeros).first(end - from);
  if (const Status got = read(from, padding, "the zeros behind the trailer"); !got.ok()) return got;
  const auto wrong = std::find_if(padding.begin(), padding.end(), [](char byte) { return byte != 0; });
  if (wrong == padding.end() || !checksum_matters()) return {};
  return damaged(from + static_cast<std::uint64_t>(wrong - padding.begin()),
                 fmt::format("byte {:#04x} behind the trailer, expected zeros", static_cast<unsigned char>(*wrong)));
}

bool RecordReader::wrong(std::string_view what) {
  status_ = file_.damaged(at_, what);
  return false;
}

bool RecordReader::next(RecordView* record) {
  at_ = block_.offset + sizeof(BlockHeader) + (block_.header.bytes - rest_.size());
  if (!status_.ok()) return false;
  if (rest_.empty()) {
    if (records_ == block_.header.records) return false;
    return wrong(fmt::format("the block holds {} records, its header says {}", records_, block_.header.records));
  }
  RecordHeader header;
  if (rest_.size() < sizeof header) return wrong("the block ends within a record's header");
  std::memcpy(&header, rest_.data(), sizeof header);
  rest_.remove_prefix(sizeof header);
  if (header.key_bytes > txn::kMaxEntryKeyBytes || header.value_bytes > kMaxValueBytes) {
    return wrong(fmt::format("a key of {} and a value of {} bytes, expected at most {} and {}", header.key_bytes,
                             header.value_bytes, txn::kMaxEntryKeyBytes, kMaxValueBytes));
  }
  if (rest_.size() < std::size_t{header.key_bytes} + header.value_bytes) {
    return wrong(fmt::format("a key of {} and a value of {} bytes, but the block has {} left", header.key_bytes,
                             header.value_bytes, rest_.size()));
  }
  if (header.tid != record::tid_of(header.tid) || header.tid == 0 ||
      record::epoch_of(header.tid) >= file_.header().epoch) {
    return wrong(fmt::format("TID {:#x} of epoch {}, expected one of an epoch before {}, without status bits",
                             header.tid, record::epoch_of(header.tid), file_.header().epoch));
  }
  *record = {header.tid, rest_.substr(0, header.key_bytes), rest_.substr(header.key_bytes, header.value_bytes)};
  rest_.remove_prefix(std::size_t{header.key_bytes} + header.value_bytes);
  ++records_;
  return true;
}

}  // namespace granary::recovery::checkpoint
