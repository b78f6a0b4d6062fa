#include "src/db/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "src/base/notice.h"
#include "src/db/memory_limit.h"
#include "src/db/options_check.h"
#include "src/db/released.h"

namespace granary::db {
namespace {

/// The part of the memory limit that only deletions may use.
constexpr std::uint64_t kReserveShare = 32;
/// The part that is left of it while stored data are loaded, so that a full database that was opened can delete.
constexpr std::uint64_t kReserveShareOfLoading = 256;

/// A hash table that is loaded frugally gets a main header for so many times fewer keys than are expected: for 96 keys a bucket. The
/// longer the chains, the less memory the index takes, down to 24 bytes a key. These take 25, so what a database with any main header
/// could hold can be loaded: the part of the reserve that loading may use is 2.7 % of the limit, and a record and its entry take 64 bytes
/// at least.
constexpr std::uint64_t kFrugalShare = 16;

recovery::TableEntry entry_to_load(const recovery::TableEntry& entry, bool frugal) {
  recovery::TableEntry made = entry;
  if (frugal && entry.hash_keys) made.hash_keys = std::max<std::uint64_t>(1, *entry.hash_keys / kFrugalShare);
  return made;
}

}  // namespace

/// What fits into memory may still need somewhat more while it is loaded fast: by several threads, with deleted records that wait for
/// older writes of their keys.
Result<std::unique_ptr<Engine>> Engine::open(const Options& options, base::FileSystem& files, const ClusterPart& part) {
  const Status checked = check_options(options);
  if (!checked.ok()) return checked;
  bool try_frugally = false;
  auto opened = open(options, files, part, Loading::kFast, try_frugally);
  return try_frugally ? open(options, files, part, Loading::kFrugal, try_frugally) : std::move(opened);
}

/// `try_frugally`: it failed for want of memory, and there is a way that takes less.
Result<std::unique_ptr<Engine>> Engine::open(const Options& options, base::FileSystem& files, const ClusterPart& part,
                                             Loading loading, bool& try_frugally) {
  try_frugally = false;
  auto htm = htm::Support::open(options.htm, options.htm_simulation);
  if (!htm.ok()) return htm.status();
  std::unique_ptr<Storage> storage;
  if (!options.directory.empty()) {
    auto opened = Storage::open(options, files, part);
    if (!opened.ok()) return opened.status();
    storage = std::move(*opened);
  }
  const std::uint64_t limit =
      options.memory_limit_bytes != 0 ? options.memory_limit_bytes : available_memory_bytes() / 4 * 3;
  auto region = memory::Region::map({.reserve_bytes = limit,
                                     .huge_pages = options.huge_pages,
                                     .prefault_bytes = std::min(options.prefault_bytes, limit),
                                     .numa_node = options.numa_node,
                                     .shared = options.shared_memory});
  if (!region.ok()) return region.status();
  if (options.huge_pages == HugePages::kTry && (*region)->page_kind() == "4 KiB") {
    base::tell(options.notices,
               {.severity = NoticeSeverity::kWarning,
                .topic = NoticeTopic::kMemoryPages,
                .text = fmt::format("no 2 MiB pages; running on 4 KiB pages, which is slower (mend: {})",
                                    memory::transparent_pages_command(options.shared_memory))});
  }
  std::unique_ptr<Engine> engine(
      new Engine(options, std::move(*region), limit, std::move(storage), std::move(*htm), part.control));
  if (const Status recovered = engine->recover(loading); !recovered.ok()) {
    try_frugally = loading == Loading::kFast && recovered.code() == StatusCode::kResourceExhausted &&
                   part.control == nullptr && engine->storage_->recovery().knows_frugal_way();
    return recovered;
  }
  engine->start();
  return engine;
}

Engine::Engine(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes,
               std::unique_ptr<Storage> storage, std::unique_ptr<htm::Support> htm, epoch::ControlBlock* control)
    : options_(options),
      storage_(std::move(storage)),
      htm_(std::move(htm)),
      region_(std::move(region)),
      slabs_(*region_, {.limit_bytes = limit_bytes,
                        .reserve_bytes = limit_bytes / kReserveShare,
                        .simple = options.simple_allocator}),
      epochs_({.snapshot_epochs = options.snapshot_epochs,
               .max_open_epochs = options.max_open_epochs,
               .first_epoch = storage_ == nullptr ? 1 : storage_->recovery().first_epoch(),
               .control = control}),
      shared_{.settings = {.snapshots = options.snapshots,
                           .garbage_collection = options.garbage_collection,
                           .overwrite_in_place = options.overwrite_in_place,
                           .global_tids = options.tid_source == TidSource::kGlobal,
                           .small_log_records = options.small_log_records,
                           .epoch_ms = options.background == Background::kThreads ? options.epoch_ms : 0},
              .epochs = epochs_,
              .slabs = slabs_,
              .waiter = waiter_,
              .htm = htm_->backend() == htm::Backend::kOff ? nullptr : htm_.get()},
      schema_slabs_(std::make_unique<memory::SlabCache>(slabs_)),
      schema_nodes_(std::make_unique<kvstore::NodeMemory>(*schema_slabs_, epochs_)),
      relief_slot_(epochs_.acquire_slot()) {}

Engine::~Engine() {
  const Status closed = close();
  if (closed.ok() || failure_told_.load(std::memory_order_relaxed)) return;
  base::tell(options_.notices, {.severity = NoticeSeverity::kWarning,
                                .topic = NoticeTopic::kClosing,
                                .text = "closing the database: " + closed.message()});
}

void Engine::start() {
  if (options_.background != Background::kThreads) return;
  background_ = std::thread([this] { run_background(); });
  if (storage_ != nullptr && options_.checkpoint_interval_s != 0)
    checkpoints_ = std::thread([this] { checkpoint_now_and_then(); });
}

void Engine::stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopping_ = true;
  }
  stop_signal_.notify_all();
  if (storage_ != nullptr)
    storage_->checkpoints().cancel();  // a large one takes minutes, as it leaves the cores to others
  // A node's epochs are told to the others until the last moment, as theirs stand still without.
  if (checkpoints_.joinable()) checkpoints_.join();
  if (background_.joinable()) background_.join();
}

Status Engine::close() {
  if (closed_) return {};
  closed_ = true;
  stop();
  if (storage_ == nullptr || shared_.log == nullptr) return {};
  // No transaction is open: the epoch of the last one is complete now.
  if (epochs_.in_cluster()) {
    epochs_.end();
  } else {
    epochs_.tick();
  }
  return storage_->close();
}

Status Engine::recover(Loading loading) {
  if (storage_ == nullptr) return {};
  slabs_.set_reserve(slabs_.limit_bytes() / kReserveShareOfLoading);
  for (const recovery::TableEntry& entry : storage_->manifest().now().tables) {
    const std::lock_guard lock(schema_mutex_);
    auto table = add_table(entry_to_load(entry, loading == Loading::kFrugal));
    if (!table.ok()) return table.status();
    undeclared_.insert(entry.name);
    if (!entry.base) continue;
    txn::TableCore* const base = tables_[*entry.base].get();
    (*table)->make_index_of(base, entry.index);
    base->add_index(*table);
  }
  if (const Status filled = fill(loading); !filled.ok()) return filled;
  slabs_.set_reserve(slabs_.options().reserve_bytes);
  widen_recovered_tables();
  if (const Status begun = storage_->begin(epochs_); !begun.ok()) return begun;
  shared_.log = &storage_->log();
  for (txn::WorkerCore* const worker : idle_workers_) {
    if (const Status connected = connect_ring(*worker); !connected.ok()) return connected;
  }
  // In a cluster that has to wait until all nodes serve (checkpoint_now_and_then).
  return storage_->recovery().lost() && !epochs_.in_cluster() ? checkpoint() : Status();
}

Status Engine::take_from(base::FileSystem& files, const std::string& directory) {
  auto worker = take_worker();
  if (!worker.ok()) return worker.status();
  cc::WorkerState* const states[] = {&(*worker)->state()};
  const Status taken = storage_->recovery().take_from(files, directory, all_tables(), states);
  if (taken.ok()) widen_recovered_tables();
  give_worker(*worker);
  return taken;
}

Status Engine::have_all() {
  if (storage_ == nullptr || storage_->recovery().has_all()) return {};
  auto worker = take_worker();
  if (!worker.ok()) return worker.status();
  const Status had = storage_->recovery().have_all((*worker)->state());
  give_worker(*worker);
  return had;
}

/// Workers of its own load the data; they are the first that register_worker() hands out later.
Status Engine::fill(Loading loading) {
  const std::uint32_t cores = loading == Loading::kFrugal ? 1 : std::max(1u, std::thread::hardware_concurrency());
  const std::uint32_t threads = std::min(options_.max_workers, cores);
  std::vector<cc::WorkerState*> states;
  std::vector<txn::WorkerCore*> workers;
  for (std::uint32_t i = 0; i < threads; ++i) {
    auto worker = take_worker();
    if (!worker.ok()) return worker.status();
    workers.push_back(*worker);
    states.push_back(&(*worker)->state());
  }
  const Status filled = storage_->recovery().recover(all_tables(), states, loading == Loading::kFrugal);
  for (txn::WorkerCore* const worker : workers) give_worker(worker);
  return filled;
}

Status Engine::connect_ring(txn::WorkerCore& worker) {
  auto ring = shared_.log->add_worker(worker.id());
  if (!ring.ok()) return ring.status();
  worker.state().ring = *ring;
  return {};
}

std::vector<txn::TableCore*> Engine::tables() const {
  const std::lock_guard lock(schema_mutex_);
  return all_tables();
}

std::vector<txn::TableCore*> Engine::all_tables() const {
  std::vector<txn::TableCore*> tables;
  for (const auto& table : tables_) tables.push_back(table.get());
  return tables;
}

std::uint64_t Engine::released_epoch() const {
  if (shared_.log == nullptr || options_.release == Release::kCommit) return epochs_.current();
  return durable_everywhere(epochs_, *shared_.log);
}

Status Engine::wait_released(std::uint64_t epoch, std::uint64_t timeout_us) const {
  if (shared_.log == nullptr || options_.release == Release::kCommit) return {};
  return wait_durable_everywhere(epochs_, *shared_.log, epoch, {.timeout_us = timeout_us, .obstacle = &obstacle_});
}

Status Engine::log_status() const {
  if (shared_.log == nullptr) return {};
  if (!shared_.log->durable().failed()) return shared_.log->stall();
  failure_told_.store(true, std::memory_order_relaxed);
  return shared_.log->durable().cause();
}

const RecoveryReport& Engine::recovery_report() const {
  static const RecoveryReport kNone;
  return storage_ == nullptr ? kNone : storage_->recovery().report();
}

Status Engine::checkpoint(std::uint64_t timeout_us) {
  if (storage_ == nullptr)
    return {StatusCode::kFailedPrecondition,
            "a database in memory only (Options::directory is empty) has no checkpoints"};
  if (!storage_->recovery().has_all())
    return {StatusCode::kUnavailable, "some of the node's records are still to come from other hosts' logs"};
  return storage_->checkpoints().take([this] { return tables(); }, shared_, timeout_us, obstacle_);
}

Result<txn::WorkerCore*> Engine::take_worker() {
  const std::lock_guard lock(workers_mutex_);
  if (!idle_workers_.empty()) {
    txn::WorkerCore* const worker = idle_workers_.back();
    idle_workers_.pop_back();
    return worker;
  }
  if (workers_.size() >= options_.max_workers) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("all {} workers are registered (Options::max_workers)", options_.max_workers));
  }
  auto worker = std::make_unique<txn::WorkerCore>(static_cast<std::uint32_t>(workers_.size()), shared_);
  if (shared_.log != nullptr) {
    if (const Status connected = connect_ring(*worker); !connected.ok()) return connected;
  }
  workers_.push_back(std::move(worker));
  return workers_.back().get();
}

void Engine::give_worker(txn::WorkerCore* worker) {
  worker->abort_all();
  const std::lock_guard lock(workers_mutex_);  // nobody borrows the worker meanwhile
  worker->let_borrow(false);
  worker->pass_on_memory();
  worker->detach();
  idle_workers_.push_back(worker);
}

Status Engine::check_no_workers() const {
  const std::lock_guard lock(workers_mutex_);
  std::vector<std::uint32_t> held;
  for (const auto& worker : workers_) {
    if (std::find(idle_workers_.begin(), idle_workers_.end(), worker.get()) == idle_workers_.end())
      held.push_back(worker->id());
  }
  if (held.empty()) return {};
  return {StatusCode::kFailedPrecondition,
          fmt::format(
              "{} {} {} still registered; a database's workers have to be destroyed before it is closed or destroyed",
              held.size() == 1 ? "worker" : "workers", fmt::join(held, ", "), held.size() == 1 ? "is" : "are")};
}

}  // namespace granary::db
