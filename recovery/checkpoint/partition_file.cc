#include "recovery/checkpoint/partition_file.h"

#include <algorithm>
#include <cstring>

#include "src/base/direct_file.h"
#include "src/base/test_hooks.h"

namespace granary::recovery::checkpoint {

void BlockBuffer::add(std::uint64_t tid, std::string_view key, std::size_t value_bytes) {
  const RecordHeader record{tid, static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value_bytes)};
  std::memcpy(bytes_.data() + used_, &record, sizeof record);
  if (!key.empty()) std::memcpy(bytes_.data() + used_ + sizeof record, key.data(), key.size());
  used_ += sizeof record + key.size() + value_bytes;
  ++header_.records;
}

std::span<const char> BlockBuffer::seal(std::uint32_t file_crc, std::uint32_t sequence) {
  header_.bytes = static_cast<std::uint32_t>(body_bytes());
  header_.sequence = sequence;
  header_.crc = block_crc(file_crc, header_, bytes_.data() + sizeof(BlockHeader));
  std::memcpy(bytes_.data(), &header_, sizeof header_);
  return std::span<const char>(bytes_).first(used_);
}

Result<std::unique_ptr<PartitionFile>> PartitionFile::create(base::FileSystem& files, const std::string& directory,
                                                             FileHeader header, std::uint64_t sync_bytes) {
  header.seal();
  auto file = files.create_direct(directory + '/' + partition_name(header.partition));
  if (!file.ok()) return file.status();
  std::unique_ptr<PartitionFile> partition(new PartitionFile(std::move(*file), header, sync_bytes));
  const Status put = partition->put({reinterpret_cast<const char*>(&header), sizeof header});
  if (!put.ok()) return put;
  return partition;
}

Status PartitionFile::append(BlockBuffer& block) {
  const std::lock_guard lock(mutex_);
  if (!failed_.ok()) return failed_;
  const Status done = put(block.seal(header_.crc, blocks_));
  if (!done.ok()) return done;
  ++blocks_;
  records_ += block.header().records;
  // The file is synced now and then, so that the end does not find gigabytes unwritten, for which the syncs of other
  // files would have to wait.
  return sync_bytes_ != 0 && unsynced_.load(std::memory_order_relaxed) >= sync_bytes_ ? sync() : Status();
}

Status PartitionFile::finish() {
  const std::lock_guard lock(mutex_);
  if (!failed_.ok()) return failed_;
  const Trailer trailer{records_, blocks_};
  BlockHeader header;
  header.kind = BlockKind::kTrailer;
  header.bytes = sizeof trailer;
  header.sequence = blocks_;
  header.crc = block_crc(header_.crc, header, reinterpret_cast<const char*>(&trailer));
  std::vector<char> end(padded(bytes_ + sizeof header + sizeof trailer) - bytes_);
  std::memcpy(end.data(), &header, sizeof header);
  std::memcpy(end.data() + sizeof header, &trailer, sizeof trailer);
  const Status ended = put(end);
  return ended.ok() ? sync() : ended;
}

std::uint64_t PartitionFile::unwritten() const {
  return std::min<std::uint64_t>(unsynced_.load(std::memory_order_relaxed), base::DirectFile::kMostUnwritten);
}

Status PartitionFile::put(std::span<const char> bytes) {
  Status done = file_->append(bytes);
  if (!done.ok()) return failed_ = std::move(done);
  bytes_ += bytes.size();
  unsynced_.fetch_add(bytes.size(), std::memory_order_relaxed);
  return {};
}

Status PartitionFile::sync() {
  Status done = file_->sync();
  if (!done.ok() && !base::injected("ignore-sync-error")) return failed_ = std::move(done);
  unsynced_.store(0, std::memory_order_relaxed);
  return {};
}

}  // namespace granary::recovery::checkpoint
