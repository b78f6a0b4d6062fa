#include "src/cli/replay_preview.h"

#include <fmt/format.h>
#include <granary/limits.h>

#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "recovery/entry_check.h"
#include "recovery/segment_reader.h"
#include "src/record/tid.h"
#include "src/txn/index_key.h"

namespace granary::cli {
namespace {

constexpr epoch::Epoch kNoLimit = ~epoch::Epoch{0};

/// Names a kind of write that the applier refuses. Each kind is reported once for each table, since all transactions of
/// such a log may be alike.
struct Refusal {
  enum class Cause : std::uint8_t { kUnknownTable, kTooLarge, kPartOfShared, kMalformed, kWithoutWrites };
  Cause cause;
  std::uint32_t table = 0;  ///< of no meaning for the last two causes
  auto operator<=>(const Refusal&) const = default;
};

/// Counts the refusals of one kind, and keeps the first one.
struct Refused {
  std::string first;  ///< where it stands, and why
  std::uint64_t transactions = 0;
};

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
  ReplayPreview take();

 private:
  void transaction(const std::string& where, record::TidWord tid, std::string_view body, epoch::Epoch limit);
  std::optional<Refusal> refusal_of(const log::Write& write) const;
  void note(const Refusal& refusal, const std::string& where, const log::Write& write);

  const std::vector<recovery::TableEntry>& tables_;
  const InspectedDatabase& database_;
  const epoch::Epoch from_epoch_;
  const bool past_durable_, salvaged_;
  recovery::FileBytes bytes_;
  std::map<Refusal, Refused> refused_;
  ReplayPreview preview_;
};

/// Returns the reason for which the applier refuses a write; none if it takes it.
std::optional<Refusal> Preview::refusal_of(const log::Write& write) const {
  using Cause = Refusal::Cause;
  if (write.table >= tables_.size()) return Refusal{Cause::kUnknownTable, write.table};
  const recovery::TableEntry& table = tables_[write.table];
  const std::size_t most = table.base ? txn::kMaxEntryKeyBytes : kMaxKeyBytes;
  if (write.key.size() > most || write.bytes_after() > table.max_value_bytes)
    return Refusal{Cause::kTooLarge, write.table};
  if (write.part && table.shared) return Refusal{Cause::kPartOfShared, write.table};
  return std::nullopt;
}

std::string text_of(const Refusal& refusal, const log::Write& write) {
  switch (refusal.cause) {
    case Refusal::Cause::kUnknownTable:
      return fmt::format("a write to table {}, which the manifest does not know", refusal.table);
    case Refusal::Cause::kTooLarge:
      return fmt::format("a write to table {} with a key of {} and a value of {} bytes, larger than allowed",
                         refusal.table, write.key.size(), write.bytes_after());
    case Refusal::Cause::kPartOfShared:
      return fmt::format("a part of a value in table {}, whose records are shared", refusal.table);
    case Refusal::Cause::kMalformed: return "a transaction whose writes are malformed";
    case Refusal::Cause::kWithoutWrites: return std::string(recovery::kWithoutWrites);
  }
  return {};
}

void Preview::note(const Refusal& refusal, const std::string& where, const log::Write& write) {
  Refused& refused = refused_[refusal];
  if (refused.transactions++ == 0) refused.first = where + ": " + text_of(refusal, write);
}

ReplayPreview Preview::take() {
  for (const auto& [refusal, refused] : refused_) {
    preview_.damages.push_back(refused.transactions == 1 ? refused.first
                                                         : fmt::format("{} (and {} more transactions like it)",
                                                                       refused.first, refused.transactions - 1));
  }
  return std::move(preview_);
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
  log::Write write, refused;
  std::optional<Refusal> refusal;
  while (writes.next(&write)) {
    ++preview_.writes;
    if (refusal || write.home) continue;
    refusal = refusal_of(write);
    if (refusal) refused = write;
  }
  if (writes.malformed()) refusal = Refusal{Refusal::Cause::kMalformed};
  if (body.empty()) refusal = Refusal{Refusal::Cause::kWithoutWrites};
  if (refusal) note(*refusal, where, refused);
}

Status Preview::segment(const recovery::LogSegment& segment) {
  if (segment.chunks.empty()) return {};  // it holds no transaction, and perhaps not even a header
  auto file = base::system_files().open(segment.path);
  if (!file.ok()) return file.status();
  const Status loaded =
      salvaged_ ? bytes_.load_readable(**file, segment.path).status() : bytes_.load(**file, segment.path);
  if (!loaded.ok()) return loaded;
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
