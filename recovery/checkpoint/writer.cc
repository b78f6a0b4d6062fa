#include "recovery/checkpoint/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "recovery/checkpoint/key_work.h"
#include "recovery/checkpoint/pacer.h"
#include "recovery/checkpoint/partition_file.h"
#include "recovery/checkpoint/piece.h"
#include "src/base/directory.h"
#include "src/base/test_hooks.h"
#include "src/base/threads.h"
#include "src/base/with_memory.h"
#include "src/epoch/entered.h"

namespace granary::recovery::checkpoint {
namespace {

Status check(const WriteOptions& options, const cc::DatabaseState& shared) {
  if (!shared.settings.snapshots) {
    return {StatusCode::kFailedPrecondition, "a checkpoint needs the database's option `snapshots`, which is off"};
  }
  if (options.partitions == 0 || options.partitions > kMaxPartitions) {
    return {StatusCode::kInvalidArgument,
            fmt::format("a checkpoint of {} partitions; expected 1 to {}", options.partitions, kMaxPartitions)};
  }
  if (options.threads == 0) return {StatusCode::kInvalidArgument, "a checkpoint by 0 threads; expected at least 1"};
  if (!(options.duty > 0.0 && options.duty <= 1.0)) {
    return {StatusCode::kInvalidArgument,
            fmt::format("a checkpoint's duty of {}; expected above 0, at most 1", options.duty)};
  }
  return {};
}

std::string parent_of(const std::string& directory) {
  const auto slash = directory.find_last_of('/', directory.find_last_not_of('/'));
  return slash == std::string::npos ? "." : directory.substr(0, std::max<std::size_t>(slash, 1));
}

class Writer {
 public:
  Writer(const WriteOptions& options, cc::DatabaseState& shared, epoch::Epoch snapshot,
         std::span<txn::TableCore* const> tables)
      : options_(options),
        shared_(shared),
        snapshot_(snapshot),
        work_(tables, shared.epochs, options.threads) {
    contents_.epoch = snapshot;
    contents_.database = options.database;
    contents_.partitions = options.partitions;
    contents_.stamp = options.stamp != 0 ? options.stamp : log::new_stamp();
  }

  Result<Contents> run() {
    if (const Status begun = begin(); !begun.ok()) return begun;
    Status status = base::with_memory([this] { return write_partitions(); });
    if (status.ok()) return contents_;
    partitions_.clear();
    static_cast<void>(remove_checkpoint(*options_.files, options_.directory));  // the caller gets the first error
    return status;
  }

 private:
  /// Makes the directory. Until this has succeeded, nothing of the checkpoint is in it.
  Status begin() {
    if (const Status made = options_.files->make_directory(options_.directory); !made.ok()) return made;
    const auto names = options_.files->list(options_.directory);
    if (!names.ok()) return names.status();
    if (names->empty()) return {};
    return {StatusCode::kAlreadyExists,
            fmt::format("cannot write a checkpoint to '{}': it holds '{}'; expected a new or "
                        "empty directory",
                        options_.directory, names->front())};
  }

  /// Checks that the file system has room for `more` bytes, and for the bytes that must stay free for others
  /// (leave_bytes). Bytes that the files have not written yet count as used.
  Status check_room(std::uint64_t more) const {
    if (options_.leave_bytes == 0) return {};
    const auto free = base::free_bytes(*options_.files, options_.directory);
    if (!free.ok()) return free.status();
    for (const auto& partition : partitions_) more += partition->unwritten();
    if (*free >= options_.leave_bytes + more) return {};
    return {StatusCode::kDiskFull,
            fmt::format("the checkpoint was given up to leave the log its room: it needs {} bytes now, {} are to stay "
                        "free, and the file system of '{}' has {} bytes free",
                        more, options_.leave_bytes, options_.directory, *free)};
  }

  Status write_partitions() {
    if (const Status room = check_room(0); !room.ok()) return room;
    for (std::uint32_t i = 0; i < options_.partitions; ++i) {
      FileHeader header;
      header.database = options_.database;
      header.epoch = snapshot_;
      header.stamp = contents_.stamp;
      header.partition = i;
      header.partitions = options_.partitions;
      auto file = PartitionFile::create(*options_.files, options_.directory, header, options_.sync_bytes);
      if (!file.ok()) return file.status();
      partitions_.push_back(std::move(*file));
    }
    base::share_out(options_.threads, [this](unsigned me) { run_thread(me); });
    if (!failure_.ok()) return failure_;
    return finish();
  }

  Status finish() {
    for (const auto& partition : partitions_) {
      if (const Status done = partition->finish(); !done.ok()) return done;
      contents_.file_bytes += partition->bytes();
    }
    if (base::injected("skip-directory-sync")) return {};
    if (const Status synced = options_.files->sync_directory(options_.directory); !synced.ok()) return synced;
    return options_.files->sync_directory(parent_of(options_.directory));
  }

  void run_thread(unsigned me) {
    epoch::Slot* const slot = shared_.epochs.acquire_slot();
    if (slot == nullptr) {
      fail({StatusCode::kResourceExhausted, "no epoch slot is free for a thread of the checkpoint; use fewer threads"});
      return;
    }
    const Status status = base::with_memory([&]() -> Status {
      Contents mine;
      const Status written = write_shares(me, *slot, &mine);
      const std::lock_guard lock(mutex_);
      contents_.add(mine);
      return written;
    });
    shared_.epochs.release_slot(slot);
    if (!status.ok()) fail(status);
  }

  /// Writes pieces of the shares that the thread gets, until there is no share left.
  Status write_shares(unsigned me, epoch::Slot& slot, Contents* mine) {
    BlockBuffer block;
    block.begin(0);
    KeyWork::Share& share = work_.share(me);
    Pacer pacer(options_.duty);
    while (work_.find(me, slot, stop_)) {
      const txn::TableCore& table = *share.table;  // only the owner of the share sets it
      if (table.id() != block.header().table) {
        if (const Status flushed = flush(me, block, mine, &pacer); !flushed.ok()) return flushed;
        block.begin(table.id());
      }
      for (bool more = true; more;) {
        if (cancelled()) return {StatusCode::kUnavailable, "the checkpoint was cancelled"};
        if (stop_.load(std::memory_order_relaxed)) return {};
        const Status written = write_piece(share, slot, block, mine, &more);
        if (!written.ok()) return written;
        if (!block.full()) continue;
        if (const Status flushed = flush(me, block, mine, &pacer); !flushed.ok()) return flushed;
      }
    }
    return flush(me, block, mine, &pacer);
  }

  /// Writes one piece. Sets `more` to false if it was the last one of the share.
  Status write_piece(KeyWork::Share& share, epoch::Slot& slot, BlockBuffer& block, Contents* mine, bool* more) {
    const std::lock_guard lock(share.mutex);
    Piece piece(snapshot_, shared_.waiter, block, mine->tables[share.table->id()]);
    {
      const epoch::Entered entered(shared_.epochs, slot);
      base::sync_point("checkpoint.entered");
      *more = piece.run(share.table->index(), &share.range);
    }
    base::sync_point("checkpoint.piece");
    if (piece.held())
      return {StatusCode::kUnavailable,
              fmt::format("another node holds a record of table '{}'; take the checkpoint again", share.table->name())};
    if (!*more) work_.finish(share);
    return {};
  }

  /// Writes the block, if it holds anything, and begins the next one of the same table.
  Status flush(unsigned me, BlockBuffer& block, Contents* mine, Pacer* pacer) {
    if (block.empty()) return {};
    if (const Status room = check_room(block.body_bytes()); !room.ok()) return room;
    // The thread takes its own partitions in turn. With more threads than partitions it shares one.
    std::uint64_t partition = me % options_.partitions;
    if (options_.threads < options_.partitions) {
      const std::uint64_t own = (options_.partitions - me - 1) / options_.threads + 1;
      partition = me + mine->blocks % own * options_.threads;
    }
    if (const Status put = partitions_[partition]->append(block); !put.ok()) return put;
    ++mine->blocks;
    mine->records += block.header().records;
    block.begin(block.header().table);
    base::sync_point("checkpoint.block");
    rest(pacer);
    return {};
  }

  /// Sleeps until the block has taken as long as it should, and begins to measure the next one.
  void rest(Pacer* pacer) const {
    constexpr std::chrono::milliseconds kPatience(10);  // how often it looks at `cancel`
    const Pacer::Clock::time_point until = pacer->due();
    for (auto now = Pacer::Clock::now(); now < until && !cancelled() && !stop_.load(std::memory_order_relaxed);
         now = Pacer::Clock::now()) {
      std::this_thread::sleep_until(std::min<Pacer::Clock::time_point>(until, now + kPatience));
    }
    pacer->begin();
  }

  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed); }

  void fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    stop_.store(true, std::memory_order_relaxed);
  }

  const WriteOptions& options_;
  cc::DatabaseState& shared_;
  const epoch::Epoch snapshot_;
  KeyWork work_;
  std::vector<std::unique_ptr<PartitionFile>> partitions_;
  std::atomic<bool> stop_{false};  // set by a thread that fails, read by all; only a signal, so relaxed
  std::mutex mutex_;               // guards what follows
  Status failure_;
  Contents contents_;
};

}  // namespace

Result<Contents> write_checkpoint(const WriteOptions& options, cc::DatabaseState& shared, const SnapshotPin& pin,
                                  std::span<txn::TableCore* const> tables) {
  const Status checked = check(options, shared);
  if (!checked.ok()) return checked;
  Result<Contents> written = Writer(options, shared, pin.epoch(), tables).run();
  if (written.ok()) std::erase_if(written->tables, [](const auto& table) { return table.second.records == 0; });
  return written;
}

Status remove_checkpoint(base::FileSystem& files, const std::string& directory) {
  const auto names = files.list(directory);
  if (!names.ok()) return names.status().code() == StatusCode::kNotFound ? Status() : names.status();
  Status first_failure;
  for (const std::string& name : *names) {
    if (!is_partition_name(name)) continue;
    Status removed = files.remove(directory + '/' + name);
    if (!removed.ok() && first_failure.ok()) first_failure = std::move(removed);
  }
  if (!first_failure.ok()) return first_failure;
  Status removed = files.remove(directory);
  if (removed.ok()) return removed;
  // A file that is not ours stays, and the directory with it: a user's notes, or a file that NFS keeps because somebody
  // reads it.
  const auto left = files.list(directory);
  return left.ok() && !left->empty() ? Status() : removed;
}

}  // namespace granary::recovery::checkpoint
