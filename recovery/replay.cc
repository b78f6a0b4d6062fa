#include "recovery/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "recovery/apply.h"
#include "recovery/chunk_reader.h"
#include "recovery/entry_check.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/base/threads.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

/// The unit of work that a thread takes at once: a chunk of a segment, or a ring.
struct Piece {
  const LogSegment* segment = nullptr;
  Chunk chunk{};
  const RingEntries* ring = nullptr;

  const std::string& file() const { return ring != nullptr ? ring->name : segment->path; }
  std::uint64_t bytes() const { return ring != nullptr ? ring->entries.size() : chunk.end - chunk.begin; }
};

/// The pieces of one replay, which its threads share.
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
    // If keys come in the order in which they were written, an index gets the shape that it had.
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

  /// Returns the next piece, or nullptr when nothing is left, or a thread has failed.
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
  std::atomic<std::size_t> next_{0};  // raised by all threads; only has to be unique, so relaxed
  std::atomic<bool> failed_{false};   // a hint to stop, so relaxed; the cause is under the mutex
  std::mutex mutex_;                  // guards what follows
  std::uint64_t done_ = 0;
  Status error_;
};

/// One thread of a replay.
class Replayer {
 public:
  Replayer(base::FileSystem& files, Work& work, std::span<txn::TableCore* const> tables, cc::WorkerState& worker,
           PendingParts& pending, PackedIndexes* frugal)
      : work_(work),
        limit_bytes_(worker.shared.slabs.limit_bytes()),
        applier_(tables, worker, pending, frugal),
        chunks_(files) {}

  void run() {
    if (!applier_.ok()) return work_.fail({StatusCode::kResourceExhausted, "recovery: no epoch slot is left"});
    while (const Piece* const piece = work_.take()) {
      applier_.read_from(piece->file());
      Status status = replay_piece(*piece);
      if (status.ok()) status = flush(*piece);
      if (!status.ok()) return work_.fail(std::move(status));
      statistics_.bytes += piece->bytes();
      work_.done(*piece);
    }
  }

  /// Lays the pending parts over their records, when all threads have run.
  void fold() { applier_.fold(statistics_.baseless); }

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

  Status failed(const Piece& piece, std::uint64_t offset, Applier::Outcome outcome, const log::Write& write) const {
    if (outcome == Applier::Outcome::kOutOfMemory)
      return {StatusCode::kResourceExhausted,
              fmt::format("recovery: the database does not fit into its memory limit of {} bytes; raise {}",
                          limit_bytes_, work_.options().limit_name)};
    if (outcome == Applier::Outcome::kUnknownTable)
      return damaged(piece, offset, fmt::format("a write to table {}, which the manifest does not know", write.table));
    if (outcome == Applier::Outcome::kPartOfShared)
      return damaged(piece, offset,
                     fmt::format("a part of a value in table {}, whose records are shared", write.table));
    return damaged(piece, offset,
                   fmt::format("a write to table {} with a key of {} and a value of {} bytes, larger than allowed",
                               write.table, write.key.size(), write.bytes_after()));
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
    if (entry.body.empty()) [[unlikely]]
      return damaged(piece, offset, kWithoutWrites);
    log::WriteReader writes(entry.body);
    log::Write write;
    while (writes.next(&write)) {
      ++statistics_.writes;
      if (write.home != work_.options().home) {
        ++statistics_.elsewhere;
        continue;
      }
      const Applier::Outcome outcome =
          applier_.add(write.table, {tid, write.removed, write.key, write.value, write.part});
      if (outcome != Applier::Outcome::kOk) [[unlikely]]
        return failed(piece, offset, outcome, write);
    }
    return writes.malformed() ? damaged(piece, offset, "a transaction whose writes are malformed") : Status();
  }

  Work& work_;
  const std::uint64_t limit_bytes_;
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

using Replayers = std::vector<std::unique_ptr<Replayer>>;

/// Calls the function for each replayer, in a thread of its own.
void run_all(const Replayers& replayers, void (Replayer::*what)()) {
  base::share_out(static_cast<unsigned>(replayers.size()), [&](unsigned i) { ((*replayers[i]).*what)(); });
}

/// Makes one pass through the log. Adds the removed records to `absents`.
Result<ReplayStatistics> replay_stretch(base::FileSystem& files, Work& work, std::span<txn::TableCore* const> tables,
                                        std::span<cc::WorkerState* const> workers, PendingParts& pending,
                                        PackedIndexes* frugal, std::vector<Absent>& absents) {
  Replayers replayers;
  for (cc::WorkerState* const worker : workers)
    replayers.push_back(std::make_unique<Replayer>(files, work, tables, *worker, pending, frugal));
  run_all(replayers, &Replayer::run);
  if (work.error().ok() && !pending.empty()) run_all(replayers, &Replayer::fold);
  ReplayStatistics sum;
  for (const auto& replayer : replayers) {
    replayer->applier().finish(
        absents);  // also of a replay that failed: it may be repeated, which finds no removal anew
    sum.add(replayer->statistics());
    sum.applied += replayer->applier().applied();
    sum.missing_bytes += replayer->applier().missing_bytes();
  }
  if (Status error = work.error(); !error.ok()) return error;
  if (sum.baseless.records != 0 && !work.options().incomplete && sum.missing_bytes == 0)
    return Status(StatusCode::kDamaged, sum.baseless.first);
  return sum;
}

Status remove(std::span<const Absent> absents, cc::WorkerState& worker) {
  if (remove_absents(absents, worker)) return {};
  return {StatusCode::kResourceExhausted, "recovery: no epoch slot is left"};
}

/// Makes the memory that the stretch has freed available to records of any size, as it was when they were written.
/// Index nodes that removals have unlinked wait for epochs to pass, and no other thread uses these epochs.
void free_for_next_stretch(cc::WorkerState& worker) {
  constexpr int kUntilFree = 3;
  for (int i = 0; i < kUntilFree; ++i) worker.shared.epochs.tick();
  worker.nodes.reclaim(worker.nodes.waiting());
  worker.slabs.release();
  worker.shared.slabs.regain();
}

/// Replays in as many passes as there are stretches. No pending parts are left between two passes, nor, if the replay
/// is frugal, absent records.
Result<ReplayStatistics> replay_in_stretches(base::FileSystem& files, const LogScan& scan,
                                             std::span<const RingEntries> rings,
                                             std::span<txn::TableCore* const> tables,
                                             std::span<cc::WorkerState* const> workers, ReplayOptions options,
                                             std::uint64_t bytes, std::vector<Absent>& absents) {
  ReplayStatistics sum;
  PackedIndexes packed(tables, *workers.front());
  PackedIndexes* const frugal = options.frugal ? &packed : nullptr;
  for (const Stretch& stretch : stretches(scan, rings, options.from_epoch, bytes)) {
    Work work(scan, rings, options, stretch);
    PendingParts pending(PendingParts::kUnlimited);
    const auto done = replay_stretch(files, work, tables, workers, pending, frugal, absents);
    if (!done.ok()) return done.status();
    sum.add(*done);
    options.incomplete = options.incomplete || sum.missing_bytes != 0;
    if (!options.frugal) continue;
    if (const Status removed = remove(std::exchange(absents, {}), *workers.front()); !removed.ok()) return removed;
    free_for_next_stretch(*workers.front());
  }
  return sum;
}

/// Replays in one pass, unless the parts of values take too much memory.
Result<ReplayStatistics> replay_at_once(base::FileSystem& files, const LogScan& scan,
                                        std::span<const RingEntries> rings, std::span<txn::TableCore* const> tables,
                                        std::span<cc::WorkerState* const> workers, const ReplayOptions& options,
                                        std::vector<Absent>& absents) {
  constexpr std::uint64_t kShareOfMemory = 8;
  // The parts of so much unpacked log take no more memory, even with all that a part takes beside its bytes.
  constexpr std::uint64_t kLogOfParts = 8;
  const std::uint64_t limit = workers.front()->shared.slabs.limit_bytes();
  const std::uint64_t parts_bytes = options.parts_bytes != 0 ? options.parts_bytes : limit / kShareOfMemory;
  {
    Work work(scan, rings, options, {.first = options.from_epoch});
    PendingParts pending(parts_bytes);
    auto replayed = replay_stretch(files, work, tables, workers, pending, /*frugal=*/nullptr, absents);
    if (!pending.overflowed()) return replayed;
  }
  // The pass has left whole values and removals in the tables. They stay, as each of them is newer than the versions
  // that it replaced.
  return replay_in_stretches(files, scan, rings, tables, workers, options, parts_bytes / kLogOfParts, absents);
}

}  // namespace

void ReplayStatistics::add(const ReplayStatistics& more) {
  bytes += more.bytes;
  transactions += more.transactions;
  writes += more.writes;
  elsewhere += more.elsewhere;
  applied += more.applied;
  dropped += more.dropped;
  baseless.add(more.baseless);
  missing_bytes += more.missing_bytes;
}

Result<ReplayStatistics> replay(base::FileSystem& files, const LogScan& scan, std::span<const RingEntries> rings,
                                std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                const ReplayOptions& options) {
  if (workers.empty()) return Status(StatusCode::kInvalidArgument, "recovery: replay needs at least one worker");
  std::vector<Absent> own_absents;
  if (options.frugal) {
    // A stretch has to be short enough for the memory of its removed records, which stay until its end. It has to be
    // long enough, too, because the rings are read once for each stretch.
    constexpr std::uint64_t kShareOfMemory = 128;
    const std::uint64_t bytes = workers.front()->shared.slabs.limit_bytes() / kShareOfMemory;
    return replay_in_stretches(files, scan, rings, tables, workers.first(1), options, bytes, own_absents);
  }
  auto replayed = replay_at_once(files, scan, rings, tables, workers, options,
                                 options.absents != nullptr ? *options.absents : own_absents);
  if (!replayed.ok()) return replayed;
  if (Status removed = remove(own_absents, *workers.front()); !removed.ok()) return removed;
  return replayed;
}

}  // namespace granary::recovery
