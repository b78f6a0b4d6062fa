#include "src/cli/replay_preview.h"

#include <fmt/format.h>
#include <granary/limits.h>

#include <utility>

#include "recovery/entry_check.h"
#include "recovery/segment_reader.h"
#include "src/record/tid.h"
#include "src/txn/index_key.h"

namespace granary::cli {
namespace {

constexpr epoch::Epoch kNoLimit = ~epoch::Epoch{0};

class Preview {
 public:
  Preview(const InspectedDatabase& database, bool past_durable, bool salvaged)
      : tables_(database.manifest.tables),
        database_(database),
        from_epoch_(database.manifest.checkpoint ? database.manifest.checkpoint->epoch : 0),
        past_durable_(past_durable),
        salvaged_(salvaged) {}

  Status segment(const recovery::LogSegment& segment);
  void ring(const recovery::RingEntries& ring);
  ReplayPreview take() { return std::move(preview_); }

 private:
  void transaction(const std::string& where, record::TidWord tid, std::string_view body, epoch::Epoch limit);
  std::string wrong_with(const log::Write& write) const;

  const std::vector<recovery::TableEntry>& tables_;
  const InspectedDatabase& database_;
  const epoch::Epoch from_epoch_;
  const bool past_durable_, salvaged_;
  bool lacks_writes_ = false;  ///< reported once, since all transactions of such a log are alike
  recovery::FileBytes bytes_;
  ReplayPreview preview_;
};

/// Returns the reasons for which the applier refuses a write; empty if there are none.
std::string Preview::wrong_with(const log::Write& write) const {
  if (write.table >= tables_.size())
    return fmt::format("a write to table {}, which the manifest does not know", write.table);
  const recovery::TableEntry& table = tables_[write.table];
  const std::size_t most = table.base ? txn::kMaxEntryKeyBytes : kMaxKeyBytes;
  if (write.key.size() <= most && write.bytes_after() <= table.max_value_bytes) {
    return write.part && table.shared
               ? fmt::format("a part of a value in table {}, whose records are shared", write.table)
               : "";
  }
  return fmt::format("a write to table {} with a key of {} and a value of {} bytes, larger than allowed", write.table,
                     write.key.size(), write.bytes_after());
}

void Preview::transaction(const std::string& where, record::TidWord tid, std::string_view body, epoch::Epoch limit) {
  const epoch::Epoch epoch = record::epoch_of(tid);
  if (epoch < from_epoch_) {
    ++preview_.in_checkpoint;
    return;
  }
  if (epoch > limit) {
    ++preview_.dropped;
    return;
  }
  ++preview_.transactions;
  log::WriteReader writes(body);
  log::Write write;
  std::string wrong;
  while (writes.next(&write)) {
    ++preview_.writes;
    if (wrong.empty() && !write.home) wrong = wrong_with(write);
  }
  if (writes.malformed()) wrong = "a transaction whose writes are malformed";
  if (body.empty() && !std::exchange(lacks_writes_, true)) wrong = recovery::kWithoutWrites;
  if (!wrong.empty()) preview_.damages.push_back(where + ": " + wrong);
}

Status Preview::segment(const recovery::LogSegment& segment) {
  if (segment.chunks.empty()) return {};  // it holds no transaction, and perhaps not even a header
  auto file = base::system_files().open(segment.path);
  if (!file.ok()) return file.status();
  if (const Status loaded = bytes_.load(**file, segment.path); !loaded.ok()) return loaded;
  if (database_.progress) database_.progress(bytes_.view().size());
  for (const recovery::Chunk& chunk : segment.chunks) {
    if (chunk.last_epoch >= from_epoch_) preview_.bytes += chunk.end - chunk.begin;
  }
  const epoch::Epoch limit = segment.running && past_durable_ ? kNoLimit : segment.limit;
  const auto header = recovery::expected_header(database_.manifest, segment.name);
  auto reader = recovery::SegmentReader::open(bytes_.view(), segment.path, header, /*ignore_header=*/salvaged_);
  if (!reader.ok()) return reader.status();
  for (;;) {
    using Found = recovery::SegmentReader::Found;
    const Found found = reader->next();
    if (found == Found::kEnd || (found == Found::kFault && !salvaged_)) return {};
    if (found != Found::kTransaction) continue;
    transaction(fmt::format("'{}', offset {}", segment.path, reader->offset()), reader->tid(), reader->body(), limit);
  }
}

void Preview::ring(const recovery::RingEntries& ring) {
  preview_.bytes += ring.entries.size();
  recovery::EntryList entries(ring.entries);
  recovery::Entry entry;
  for (;;) {
    const std::string where = fmt::format("the log ring '{}', {} bytes behind its head", ring.name, entries.offset());
    if (!entries.next(&entry)) {
      if (entries.fault() != nullptr) preview_.damages.push_back(where + ": " + entries.fault());
      return;
    }
    transaction(where, entry.header.tid(), entry.body, kNoLimit);
  }
}

}  // namespace

Result<ReplayPreview> preview_replay(const InspectedDatabase& database, const recovery::LogScan& scan,
                                     std::span<const recovery::RingEntries> rings, bool salvaged) {
  Preview preview(database, !rings.empty(), salvaged);
  for (const recovery::LogSegment& segment : scan.segments) {
    if (const Status read = preview.segment(segment); !read.ok()) return read;
  }
  for (const recovery::RingEntries& ring : rings) preview.ring(ring);
  return preview.take();
}

}  // namespace granary::cli
