#include "recovery/dead_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "recovery/chunk_reader.h"
#include "recovery/lock_ahead.h"
#include "src/base/with_memory.h"
#include "src/record/state_word.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

using log::Debt;

constexpr std::uint32_t kMostNode = (1u << record::kHolderNodeBits) - 1;

/// Names a record by its home, its table and its key.
using RecordName = std::tuple<std::uint32_t, std::uint32_t, std::string_view>;

/// Locks of a decided transaction, all of them or a part, whose log entry is looked for.
struct Decided {
  const log::Ring* ring = nullptr;
  record::TidWord tid = 0;
  std::uint64_t log_end = 0;
  std::size_t first = 0, end = 0;  ///< the range of its debts
  bool found = false;

  bool in_ring() const { return log_end > ring->header().head.load(std::memory_order_relaxed); }
};

class DebtReader {
 public:
  DebtReader(base::FileSystem& files, const Manifest& manifest, const LogSurvey& survey)
      : files_(files),
        manifest_(manifest),
        survey_(survey) {}

  Result<std::vector<Debt>> run() {
    for (const auto& ring : survey_.rings.rings) {
      if (const Status read = read_names(*ring); !read.ok()) return read;
    }
    for (const auto& ring : survey_.rings.rings) {
      if (const Status looked = look_into_ring(*ring); !looked.ok()) return looked;
    }
    if (const Status looked = look_into_log(); !looked.ok()) return looked;
    for (const Decided& one : decided_) {
      if (!one.found) return lost(one);
    }
    return std::move(debts_);
  }

 private:
  class LogVisitor;

  std::string path_of(const log::Ring& ring) const {
    return manifest_.reliable_directory + "/" + log::ring_name(ring.header().worker);
  }
  Status damaged(const log::Ring& ring, std::string_view cause) const {
    return {StatusCode::kDamaged, fmt::format("the log ring '{}' is damaged: {}", path_of(ring), cause)};
  }
  static std::string text_of(record::TidWord tid) {
    return fmt::format("{}.{}", record::epoch_of(tid), record::sequence_of(tid));
  }
  Status lost(const Decided& one) const {
    return {StatusCode::kDamaged,
            fmt::format("transaction {} of the log ring '{}' is decided and not written back everywhere, but its entry "
                        "is neither in the ring nor in the log",
                        text_of(one.tid), path_of(*one.ring))};
  }

  Status read_names(const log::Ring& ring);
  Status look_into_ring(const log::Ring& ring);
  Status look_into_log();
  record::TidWord first_tid_of(std::uint32_t logger) const;
  Status take(Decided& one, std::string_view body);

  base::FileSystem& files_;
  const Manifest& manifest_;
  const LogSurvey& survey_;
  std::vector<Debt> debts_;
  std::uint64_t transactions_ = 0;  ///< how many were read so far
  std::vector<Decided> decided_;
};

Status DebtReader::read_names(const log::Ring& ring) {
  const auto unfinished = read_lock_ahead(ring);
  if (!unfinished.ok()) return damaged(ring, unfinished.status().message());
  for (const UnfinishedTransaction& transaction : *unfinished) {
    const std::size_t first = debts_.size();
    for (const log::NamedLock& lock : transaction.locks) {
      if (lock.table >= manifest_.tables.size())
        return damaged(ring, fmt::format("a lock in table {}, which the manifest does not know", lock.table));
      if (lock.node > kMostNode)
        return damaged(ring, fmt::format("a lock at node {}, which there cannot be", lock.node));
      debts_.push_back({.transaction = transactions_,
                        .node = static_cast<std::uint16_t>(lock.node),
                        .table = lock.table,
                        .key = std::string(lock.key),
                        .state_offset = lock.state_offset,
                        .word = lock.word,
                        .version = {}});
    }
    ++transactions_;
    if (!transaction.tid) continue;
    decided_.push_back(
        {.ring = &ring, .tid = *transaction.tid, .log_end = transaction.log_end, .first = first, .end = debts_.size()});
  }
  return {};
}

/// Finds the entries that the ring still holds.
Status DebtReader::look_into_ring(const log::Ring& ring) {
  std::multimap<std::uint64_t, Decided*> by_end;
  for (Decided& one : decided_) {
    if (one.ring == &ring && one.in_ring()) by_end.emplace(one.log_end, &one);
  }
  if (by_end.empty()) return {};
  const std::uint64_t head = ring.header().head.load(std::memory_order_relaxed);
  EntryList entries(ring.pending());
  Entry entry;
  while (entries.next(&entry)) {
    const auto [first, last] = by_end.equal_range(head + entries.offset());
    for (auto each = first; each != last; ++each) {
      if (entry.header.tid() != each->second->tid) return lost(*each->second);
      if (const Status taken = take(*each->second, entry.body); !taken.ok()) return taken;
    }
  }
  return entries.fault() == nullptr ? Status() : damaged(ring, entries.fault());
}

/// Looks in one logger's log for the entries of some transactions.
class DebtReader::LogVisitor {
 public:
  explicit LogVisitor(DebtReader& reader) : reader_(reader) {}

  void want(Decided& one) { by_tid_.emplace(one.tid, &one); }
  bool may_be_in(const Chunk& chunk) const {
    const auto first = by_tid_.lower_bound(record::make_tid(chunk.first_epoch, 0));
    return first != by_tid_.end() && record::epoch_of(first->first) <= chunk.last_epoch;
  }
  void begin(const LogSegment& segment) { segment_ = &segment; }

  Status on_transaction(std::uint64_t, const Entry& entry) {
    const auto [first, last] = by_tid_.equal_range(entry.header.tid());
    for (auto each = first; each != last; ++each) {
      if (const Status taken = reader_.take(*each->second, entry.body); !taken.ok()) return taken;
    }
    return {};
  }
  static Status on_packed_end() { return {}; }
  Status on_fault(std::uint64_t offset, const char* cause) const {
    return {StatusCode::kDamaged,
            fmt::format("the log cannot be read: '{}', offset {}: {}", segment_->path, offset, cause)};
  }

 private:
  DebtReader& reader_;
  const LogSegment* segment_ = nullptr;
  std::multimap<record::TidWord, Decided*> by_tid_;
};

/// Returns a TID such that the part of the log that was looked at has all entries with it and with greater ones.
/// Entries with smaller TIDs may stand before that part. An entry of another worker with the same TID may be within it.
record::TidWord DebtReader::first_tid_of(std::uint32_t logger) const {
  for (const LogSegment& segment : survey_.scan.segments) {
    if (segment.name.logger != logger || segment.name.generation != manifest_.generations.back().number) continue;
    if (!segment.complete_first) break;
    return record::make_tid(*segment.complete_first + log::kAheadOfMarker + 1, 0);
  }
  return record::make_tid(epoch::kLastEpoch, 0);
}

/// Looks in one pass for all entries that are not in the rings any more. It reads only the parts of the log that may
/// have their epochs.
Status DebtReader::look_into_log() {
  std::map<std::uint32_t, LogVisitor> by_logger;
  for (Decided& one : decided_) {
    if (one.in_ring()) continue;
    const std::uint32_t logger = one.ring->header().logger;
    if (!survey_.whole && one.tid < first_tid_of(logger))
      return {StatusCode::kNotFound, "the part of the log is short"};
    by_logger.try_emplace(logger, *this).first->second.want(one);
  }
  ChunkReader chunks(files_);
  for (const LogSegment& segment : survey_.scan.segments) {
    const auto visitor = by_logger.find(segment.name.logger);
    if (segment.name.generation != manifest_.generations.back().number || visitor == by_logger.end()) continue;
    visitor->second.begin(segment);
    for (const Chunk& chunk : segment.chunks) {
      if (!visitor->second.may_be_in(chunk)) continue;
      if (const Status read = chunks.visit(segment, chunk, visitor->second); !read.ok()) return read;
    }
  }
  return {};
}

/// Notes the transaction's writes of the records that it may hold. A lock without a write belongs to a record that was
/// only read, or to a place that the transaction has let go before it was decided.
Status DebtReader::take(Decided& one, std::string_view body) {
  one.found = true;
  if (body.empty()) return damaged(*one.ring, fmt::format("transaction {} has no writes", text_of(one.tid)));
  std::multimap<RecordName, Debt*> by_name;
  for (std::size_t i = one.first; i < one.end; ++i)
    by_name.emplace(RecordName{debts_[i].node, debts_[i].table, debts_[i].key}, &debts_[i]);
  log::WriteReader writes(body);
  for (log::Write write; writes.next(&write);) {
    if (!write.home) continue;
    const auto [first, last] = by_name.equal_range({*write.home, write.table, write.key});
    for (auto each = first; each != last; ++each) {
      if (write.value.size() > manifest_.tables[write.table].max_value_bytes)
        return damaged(*one.ring,
                       fmt::format("transaction {} has a value of {} bytes for table {}, larger than allowed",
                                   text_of(one.tid), write.value.size(), write.table));
      each->second->version = {.tid = one.tid, .removed = write.removed, .value = std::string(write.value)};
    }
  }
  if (!writes.malformed()) return {};
  return damaged(*one.ring, fmt::format("the writes of transaction {} are malformed", text_of(one.tid)));
}

}  // namespace

Result<std::vector<Debt>> read_debts(base::FileSystem& files, const Manifest& manifest, const LogSurvey& survey) {
  return base::with_memory([&] { return DebtReader(files, manifest, survey).run(); });
}

}  // namespace granary::recovery
