#include "recovery/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "recovery/apply.h"
#include "recovery/chunk_reader.h"
#include "recovery/entry_check.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

constexpr epoch::Epoch kNoLimit = ~epoch::Epoch{0};

/// The unit of work that a thread takes at once: a chunk of a segment, or a ring.
struct Piece {
  const LogSegment* segment = nullptr;
  Chunk chunk{};
  const RingEntries* ring = nullptr;

  std::uint64_t bytes() const { return ring != nullptr ? ring->entries.size() : chunk.end - chunk.begin; }
};

/// Epochs of which one pass through the log replays the transactions.
struct Stretch {
  epoch::Epoch first = 0;
  epoch::Epoch last = kNoLimit;
};

/// Shared by the threads of one replay.
class Work {
 public:
  Work(const LogScan& scan, std::span<const RingEntries> rings, const ReplayOptions& options, const Stretch& stretch)
      : options_(options),
        stretch_(stretch) {
    for (const RingEntries& ring : rings) pieces_.push_back({.ring = &ring});
    for (auto segment = scan.segments.rbegin(); segment != scan.segments.rend(); ++segment) {
      for (auto chunk = segment->chunks.rbegin(); chunk != segment->chunks.rend(); ++chunk) {
        if (chunk->last_epoch < stretch.first || chunk->first_epoch > stretch.last) continue;
        pieces_.push_back({.segment = &*segment, .chunk = *chunk});
      }
    }
    // In the order of the writes an index gets the shape that it had.
    if (options.frugal) std::reverse(pieces_.begin(), pieces_.end());
    for (const Piece& piece : pieces_) all_ += piece.bytes();
  }

  const ReplayOptions& options() const { return options_; }
  bool in_stretch(epoch::Epoch epoch) const { return epoch >= stretch_.first && epoch <= stretch_.last; }

  epoch::Epoch limit_of(const Piece& piece) const {
    return base::injected("replay-past-durable") ? kNoLimit : true_limit_of(piece);
  }
  epoch::Epoch true_limit_of(const Piece& piece) const {
    if (piece.ring != nullptr || (piece.segment->running && options_.past_durable)) return kNoLimit;
    return piece.segment->limit;
  }

  /// nullptr when nothing is left, or something failed.
  const Piece* take() {
    if (failed_.load(std::memory_order_relaxed)) return nullptr;
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    return i < pieces_.size() ? &pieces_[i] : nullptr;
  }
  void done(const Piece& piece) {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    done_ += piece.bytes();
    options_.progress(done_, all_);
  }
  void fail(Status error) {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = std::move(error);
    failed_.store(true, std::memory_order_relaxed);
  }
  Status error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  const ReplayOptions& options_;
  const Stretch stretch_;
  std::vector<Piece> pieces_;
  std::uint64_t all_ = 0;
  std::atomic<std::size_t> next_{0};  // taken by all threads; only unique, so relaxed
  std::atomic<bool> failed_{false};   // a hint to stop, so relaxed; the cause is under the mutex
  std::mutex mutex_;                  // guards what follows
  std::uint64_t done_ = 0;
  Status error_;
};

/// One thread of a replay.
class Replayer {
 public:
  Replayer(base::FileSystem& files, Work& work, std::span<txn::TableCore* const> tables, cc::WorkerState& worker)
      : work_(work),
        applier_(tables, worker, work.options().frugal),
        chunks_(files) {}

  void run() {
    if (!applier_.ok()) return work_.fail({StatusCode::kResourceExhausted, "recovery: no epoch slot is left"});
    while (const Piece* const piece = work_.take()) {
      Status status = replay_piece(*piece);
      if (status.ok()) status = flush(*piece);
      if (!status.ok()) return work_.fail(std::move(status));
      statistics_.bytes += piece->bytes();
      work_.done(*piece);
    }
  }

  Applier& applier() { return applier_; }
  const ReplayStatistics& statistics() const { return statistics_; }

 private:
  static Status damaged(const Piece& piece, std::uint64_t offset, std::string_view cause) {
    return {StatusCode::kDamaged,
            piece.ring != nullptr
                ? fmt::format("the log ring '{}' is damaged at {} bytes behind its head: {}", piece.ring->name, offset,
                              cause)
                : fmt::format("the log cannot be replayed: '{}', offset {}: {}", piece.segment->path, offset, cause)};
  }

  static Status failed(const Piece& piece, std::uint64_t offset, Applier::Outcome outcome, const log::Write& write) {
    if (outcome == Applier::Outcome::kOutOfMemory)
      return {StatusCode::kResourceExhausted,
              "recovery: the database does not fit into its memory limit (Options::memory_limit_bytes)"};
    if (outcome == Applier::Outcome::kUnknownTable)
      return damaged(piece, offset, fmt::format("a write to table {}, which the manifest does not know", write.table));
    return damaged(piece, offset,
                   fmt::format("a write to table {} with a key of {} and a value of {} bytes, larger than allowed",
                               write.table, write.key.size(), write.value.size()));
  }

  Status flush(const Piece& piece) {
    const Applier::Outcome outcome = applier_.flush();
    return outcome == Applier::Outcome::kOk ? Status() : failed(piece, 0, outcome, {});
  }

  /// Visits the transactions of one piece.
  struct Visitor {
    Replayer& replayer;
    const Piece& piece;

    Status on_transaction(std::uint64_t offset, const Entry& entry) {
      return replayer.replay_transaction(piece, offset, entry);
    }
    Status on_packed_end() { return replayer.flush(piece); }
    Status on_fault(std::uint64_t offset, const char* cause) { return damaged(piece, offset, cause); }
  };
  Status replay_piece(const Piece& piece) {
    Visitor visitor{*this, piece};
    if (piece.ring != nullptr) return visit_list(EntryList(piece.ring->entries), std::nullopt, visitor);
    return chunks_.visit(*piece.segment, piece.chunk, visitor);
  }

  Status replay_transaction(const Piece& piece, std::uint64_t offset, const Entry& entry) {
    const record::TidWord tid = entry.header.tid();
    const epoch::Epoch epoch = record::epoch_of(tid);
    if (!work_.in_stretch(epoch)) return {};
    if (epoch > work_.limit_of(piece)) {
      ++statistics_.dropped;
      return {};
    }
    base::debug_invariant("I18", [&] { return epoch <= work_.true_limit_of(piece); });
    ++statistics_.transactions;
    log::WriteReader writes(entry.body);
    log::Write write;
    while (writes.next(&write)) {
      ++statistics_.writes;
      if (write.home != work_.options().home) {
        ++statistics_.elsewhere;
        continue;
      }
      const Applier::Outcome outcome = applier_.add(write.table, {tid, write.removed, write.key, write.value});
      if (outcome != Applier::Outcome::kOk) [[unlikely]]
        return failed(piece, offset, outcome, write);
    }
    return writes.malformed() ? damaged(piece, offset, "a transaction whose writes are malformed") : Status();
  }

  Work& work_;
  Applier applier_;
  ChunkReader chunks_;
  ReplayStatistics statistics_;
};

}  // namespace

Result<epoch::Epoch> greatest_epoch(std::span<const RingEntries> rings) {
  epoch::Epoch greatest = 0;
  for (const RingEntries& ring : rings) {
    EntryList entries(ring.entries);
    Entry entry;
    while (entries.next(&entry)) greatest = std::max(greatest, record::epoch_of(entry.header.tid()));
    if (entries.fault() != nullptr)
      return Status(StatusCode::kDamaged, fmt::format("the log ring '{}' is damaged at {} bytes behind its head: {}",
                                                      ring.name, entries.offset(), entries.fault()));
  }
  return greatest;
}

namespace {

/// One pass through the log. Adds to `absents` what was removed.
Result<ReplayStatistics> replay_stretch(base::FileSystem& files, Work& work, std::span<txn::TableCore* const> tables,
                                        std::span<cc::WorkerState* const> workers, std::vector<Absent>& absents) {
  std::vector<std::unique_ptr<Replayer>> replayers;
  for (cc::WorkerState* const worker : workers)
    replayers.push_back(std::make_unique<Replayer>(files, work, tables, *worker));
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < replayers.size(); ++i) helpers.emplace_back([&one = *replayers[i]] { one.run(); });
  replayers.front()->run();
  for (std::thread& helper : helpers) helper.join();
  ReplayStatistics sum;
  for (const auto& replayer : replayers) {
    replayer->applier().finish(
        absents);  // also of a replay that failed: it may be repeated, which finds no removal anew
    sum.add(replayer->statistics());
    sum.applied += replayer->applier().applied();
    sum.missing_bytes += replayer->applier().missing_bytes();
  }
  if (Status error = work.error(); !error.ok()) return error;
  return sum;
}

Status remove(std::span<const Absent> absents, cc::WorkerState& worker) {
  if (remove_absents(absents, worker)) return {};
  return {StatusCode::kResourceExhausted, "recovery: no epoch slot is left"};
}

/// Bytes of log by the epochs in which they end, as far as that is known.
using BytesByEpoch = std::map<epoch::Epoch, std::uint64_t>;

/// A chunk does not say how its bytes are spread over its epochs. They are assumed to be spread evenly.
void add_chunk(const Chunk& chunk, BytesByEpoch& bytes) {
  constexpr epoch::Epoch kParts = 64;
  const epoch::Epoch step = (chunk.last_epoch - chunk.first_epoch) / kParts + 1;
  const std::uint64_t parts = (chunk.last_epoch - chunk.first_epoch) / step + 1;
  for (std::uint64_t part = 0; part < parts; ++part)
    bytes[chunk.last_epoch - part * step] += (chunk.end - chunk.begin) / parts;
}

void add_ring(const RingEntries& ring, BytesByEpoch& bytes) {
  EntryList entries(ring.entries);
  Entry entry;
  for (std::size_t begin = 0; entries.next(&entry); begin = entries.offset())
    bytes[record::epoch_of(entry.header.tid())] += entries.offset() - begin;
}

/// Divides the epochs into stretches of about so many bytes of log each, unless one epoch has more. The last stretch has no
/// end.
std::vector<Stretch> stretches(const LogScan& scan, std::span<const RingEntries> rings, epoch::Epoch from,
                               std::uint64_t bytes) {
  BytesByEpoch by_epoch;
  for (const LogSegment& segment : scan.segments) {
    for (const Chunk& chunk : segment.chunks) add_chunk(chunk, by_epoch);
  }
  for (const RingEntries& ring : rings) add_ring(ring, by_epoch);
  std::vector<Stretch> all;
  std::uint64_t gathered = 0;
  for (const auto& [end, more] : by_epoch) {
    if (end < from) continue;
    gathered += more;
    if (gathered < bytes) continue;
    all.push_back({.first = from, .last = end});
    from = end + 1;
    gathered = 0;
  }
  all.push_back({.first = from});
  return all;
}

/// Makes what the stretch has freed available for records of any size, as it was when they were written. Index nodes that removals have
/// unlinked wait for epochs to pass, of which nobody else is aware.
void free_for_next_stretch(cc::WorkerState& worker) {
  constexpr int kUntilFree = 3;
  for (int i = 0; i < kUntilFree; ++i) worker.shared.epochs.tick();
  worker.nodes.reclaim(worker.nodes.waiting());
  worker.slabs.release();
  worker.shared.slabs.regain();
}

Result<ReplayStatistics> replay_frugally(base::FileSystem& files, const LogScan& scan,
                                         std::span<const RingEntries> rings, std::span<txn::TableCore* const> tables,
                                         std::span<cc::WorkerState* const> workers, const ReplayOptions& options) {
  // Small enough for the removed records of a stretch, which stay until its end, and large enough, as rings are read for each.
  constexpr std::uint64_t kShareOfMemory = 128;
  const std::uint64_t limit = workers.front()->shared.slabs.limit_bytes();
  ReplayStatistics sum;
  for (const Stretch& stretch : stretches(scan, rings, options.from_epoch, limit / kShareOfMemory)) {
    Work work(scan, rings, options, stretch);
    std::vector<Absent> absents;
    const auto done = replay_stretch(files, work, tables, workers.first(1), absents);
    if (!done.ok()) return done.status();
    sum.add(*done);
    if (const Status removed = remove(absents, *workers.front()); !removed.ok()) return removed;
    free_for_next_stretch(*workers.front());
  }
  return sum;
}

}  // namespace

void ReplayStatistics::add(const ReplayStatistics& more) {
  bytes += more.bytes;
  transactions += more.transactions;
  writes += more.writes;
  elsewhere += more.elsewhere;
  applied += more.applied;
  dropped += more.dropped;
  missing_bytes += more.missing_bytes;
}

Result<ReplayStatistics> replay(base::FileSystem& files, const LogScan& scan, std::span<const RingEntries> rings,
                                std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                const ReplayOptions& options) {
  if (workers.empty()) return Status(StatusCode::kInvalidArgument, "recovery: replay needs at least one worker");
  if (options.frugal) return replay_frugally(files, scan, rings, tables, workers, options);
  Work work(scan, rings, options, {.first = options.from_epoch});
  std::vector<Absent> own_absents;
  auto replayed =
      replay_stretch(files, work, tables, workers, options.absents != nullptr ? *options.absents : own_absents);
  if (!replayed.ok()) return replayed;
  if (Status removed = remove(own_absents, *workers.front()); !removed.ok()) return removed;
  return replayed;
}

}  // namespace granary::recovery
