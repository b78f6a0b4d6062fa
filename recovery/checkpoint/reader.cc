#include "recovery/checkpoint/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "recovery/checkpoint/load_record.h"
#include "recovery/checkpoint/partition_reader.h"
#include "recovery/packed_indexes.h"
#include "src/base/test_hooks.h"
#include "src/base/threads.h"

namespace granary::recovery::checkpoint {
namespace {

using Partitions = std::vector<std::unique_ptr<PartitionReader>>;

Status mismatch(const PartitionReader& file, std::size_t offset, std::string_view field, std::string_view found,
                std::string_view expected) {
  return file.damaged(offset, fmt::format("{} {}, expected {}", field, found, expected));
}

/// Compares the header of partition `i` with those that the caller and the first file expect.
Status check_file(const PartitionReader& file, std::uint32_t i, const FileHeader& expected) {
  const FileHeader& found = file.header();
  if (found.database != expected.database) {
    return mismatch(file, offsetof(FileHeader, database), "database", log::to_text(found.database),
                    log::to_text(expected.database));
  }
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  if (found.epoch != expected.epoch)
    return mismatch(file, offsetof(FileHeader, epoch), "epoch", number(found.epoch), number(expected.epoch));
  if (found.stamp != expected.stamp && !base::injected("ignore-stamps")) {
    return file.damaged(offsetof(FileHeader, stamp),
                        fmt::format("of another life of this database (stamp {}), expected stamp {}",
                                    log::stamp_text(found.stamp), log::stamp_text(expected.stamp)));
  }
  if (found.partition != i)
    return mismatch(file, offsetof(FileHeader, partition), "partition", number(found.partition), number(i));
  if (found.partitions != expected.partitions) {
    return mismatch(file, offsetof(FileHeader, partitions), "number of partitions", number(found.partitions),
                    number(expected.partitions));
  }
  return {};
}

Status check_names(const std::string& directory, const std::vector<std::string>& names, std::uint32_t partitions) {
  for (std::uint32_t i = 0; i < partitions; ++i) {
    if (std::find(names.begin(), names.end(), partition_name(i)) != names.end()) continue;
    return {StatusCode::kDamaged, fmt::format("checkpoint '{}': '{}' is missing, of {} partitions", directory,
                                              partition_name(i), partitions)};
  }
  for (const std::string& name : names) {
    const bool ours = is_partition_name(name) && name.size() == partition_name(0).size();
    if (ours && name < partition_name(partitions)) continue;
    return {StatusCode::kDamaged,
            fmt::format("checkpoint '{}': unexpected file '{}'; expected {} partitions and nothing "
                        "else",
                        directory, name, partitions)};
  }
  return {};
}

Result<Partitions> open_partitions(const ReadOptions& options) {
  const auto names = options.files->list(options.directory);
  if (names.status().code() == StatusCode::kNotFound)
    return Status(StatusCode::kDamaged, fmt::format("checkpoint '{}' is missing", options.directory));
  if (!names.ok()) return names.status();
  if (std::find(names->begin(), names->end(), partition_name(0)) == names->end()) {
    const std::string what = names->empty() ? "it is empty" : fmt::format("it holds '{}'", names->front());
    return Status(StatusCode::kDamaged,
                  fmt::format("checkpoint '{}': no '{}'; {}", options.directory, partition_name(0), what));
  }
  Partitions partitions;
  FileHeader expected;
  for (std::uint32_t i = 0; i == 0 || i < expected.partitions; ++i) {
    auto file = PartitionReader::open(*options.files, options.directory + '/' + partition_name(i));
    if (!file.ok()) return file.status();
    if (i == 0) {
      expected = (*file)->header();
      if (options.database) expected.database = *options.database;
      if (options.epoch) expected.epoch = *options.epoch;
      if (options.stamp) expected.stamp = *options.stamp;
      if (const Status whole = check_names(options.directory, *names, expected.partitions); !whole.ok()) return whole;
    }
    if (const Status fits = check_file(**file, i, expected); !fits.ok()) return fits;
    partitions.push_back(std::move(*file));
  }
  return partitions;
}

/// Takes the records of one thread into the tables; for verification, it only counts them.
class Target {
 public:
  Target(std::span<txn::TableCore* const> tables, cc::WorkerState* worker, const ReadOptions& options)
      : tables_(tables),
        worker_(worker),
        limit_name_(options.limit_name) {
    if (options.frugal) packed_.emplace(tables, *worker);
  }
  ~Target() {
    if (slot_ != nullptr) worker_->shared.epochs.release_slot(slot_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  Status begin() {
    if (worker_ == nullptr) return {};
    slot_ = worker_->shared.epochs.acquire_slot();
    if (slot_ != nullptr) return {};
    return {StatusCode::kResourceExhausted, "no epoch slot is free to load a checkpoint; use fewer threads"};
  }

  Status take(const PartitionReader& file, const Block& block, Contents* mine) {
    TableCount& count = mine->tables[block.header.table];
    RecordReader records(file, block);
    RecordView record;
    if (worker_ == nullptr) {
      while (records.next(&record)) add(record, &count);
      return records.status();
    }
    const auto table = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const txn::TableCore* each) { return each->id() == block.header.table; });
    if (table == tables_.end()) {
      return file.damaged(block.offset,
                          fmt::format("records of table {}, which the database does not have", block.header.table));
    }
    // A block is a bounded piece of work, so E does not wait for long.
    worker_->shared.epochs.enter(*slot_);
    Status status = load(**table, records, mine, &count);
    if (packed_) packed_->look();
    worker_->shared.epochs.leave(*slot_);
    worker_->nodes.reclaim(kReclaim);
    return status.ok() ? records.status() : status;
  }

 private:
  static constexpr std::size_t kReclaim = 64;

  static void add(const RecordView& record, TableCount* count) {
    ++count->records;
    count->bytes += record.key.size() + record.value.size();
  }

  Status load(txn::TableCore& table, RecordReader& records, Contents* mine, TableCount* count) {
    kvstore::ordered::LeafHint hint;
    RecordView record;
    while (records.next(&record)) {
      if (record.value.size() > table.max_value_bytes()) {
        return {StatusCode::kDamaged,
                fmt::format("table '{}' has a value of {} bytes in the checkpoint, expected at most "
                            "{} (offset {} of its file)",
                            table.name(), record.value.size(), table.max_value_bytes(), records.offset())};
      }
      switch (load_record(table, record.tid, record.key, record.value, *worker_, &hint)) {
        case Loaded::kLoaded: break;
        case Loaded::kOlder: ++mine->older; break;
        case Loaded::kOutOfMemory:
          mine->missing_bytes += table.likely_bytes(record.key.size(), record.value.size());
          if (packed_) break;
          return {StatusCode::kResourceExhausted,
                  fmt::format("the checkpoint does not fit: the memory limit of {} bytes is reached in table '{}'; "
                              "raise {}",
                              worker_->shared.slabs.limit_bytes(), table.name(), limit_name_)};
      }
      add(record, count);
    }
    return {};
  }

  const std::span<txn::TableCore* const> tables_;
  cc::WorkerState* const worker_;
  const std::string& limit_name_;
  std::optional<PackedIndexes> packed_;  // set if records that find no memory are left out
  epoch::Slot* slot_ = nullptr;
};

class Reading {
 public:
  Reading(const ReadOptions& options, Partitions partitions) : options_(options), partitions_(std::move(partitions)) {}

  Result<Contents> run(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers) {
    const FileHeader& header = partitions_.front()->header();
    contents_.epoch = header.epoch;
    contents_.database = header.database;
    contents_.stamp = header.stamp;
    contents_.partitions = header.partitions;
    base::share_out(static_cast<unsigned>(workers.size()),
                    [&](unsigned me) { run_thread(me, workers.size(), tables, workers[me]); });
    if (!failure_.ok()) return failure_;
    for (const auto& partition : partitions_) contents_.file_bytes += partition->file_bytes();
    return contents_;
  }

 private:
  void run_thread(std::size_t me, std::size_t threads, std::span<txn::TableCore* const> tables,
                  cc::WorkerState* worker) {
    Contents mine;
    Target target(tables, worker, options_);
    Status status = target.begin();
    if (status.ok()) status = read_partitions(me * partitions_.size() / threads, target, &mine);
    const std::lock_guard lock(mutex_);
    contents_.add(mine);
    if (status.ok()) return;
    if (failure_.ok()) failure_ = std::move(status);
    stop_.store(true, std::memory_order_relaxed);
  }

  /// Reads the thread's own partitions first, then the blocks that the other threads have left.
  Status read_partitions(std::size_t first, Target& target, Contents* mine) {
    Block block;
    for (std::size_t i = 0; i < partitions_.size(); ++i) {
      PartitionReader& file = *partitions_[(first + i) % partitions_.size()];
      for (;;) {
        if (stop_.load(std::memory_order_relaxed)) return {};
        const Result<bool> got = file.next(&block);
        if (!got.ok()) return got.status();
        if (!*got) break;
        if (const Status taken = target.take(file, block, mine); !taken.ok()) return taken;
        ++mine->blocks;
        mine->records += block.header.records;
        if (options_.progress) options_.progress(sizeof(BlockHeader) + block.header.bytes);
      }
    }
    return {};
  }

  const ReadOptions& options_;
  const Partitions partitions_;
  std::atomic<bool> stop_{false};  // set by a thread that fails, read by all; only a signal, so relaxed
  std::mutex mutex_;               // guards what follows
  Status failure_;
  Contents contents_;
};

Result<Contents> read_all(const ReadOptions& options, std::span<txn::TableCore* const> tables,
                          std::span<cc::WorkerState* const> workers) {
  if (workers.empty())
    return Status(StatusCode::kInvalidArgument, "a checkpoint read by 0 threads; expected at least 1");
  auto partitions = open_partitions(options);
  if (!partitions.ok()) return partitions.status();
  return Reading(options, std::move(*partitions)).run(tables, workers);
}

}  // namespace

Result<Contents> load_checkpoint(const ReadOptions& options, std::span<txn::TableCore* const> tables,
                                 std::span<cc::WorkerState* const> workers) {
  return read_all(options, tables, workers);
}

Result<Contents> verify_checkpoint(const ReadOptions& options, std::uint32_t threads) {
  const std::vector<cc::WorkerState*> nobody(threads, nullptr);
  return read_all(options, {}, nobody);
}

}  // namespace granary::recovery::checkpoint
