#include "src/db/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "src/db/memory_limit.h"
#include "src/db/options_check.h"
#include "src/db/schema.h"
#include "src/txn/index_key.h"

namespace granary::db {
namespace {

/// The part of the memory limit that only deletions may use.
constexpr std::uint64_t kReserveShare = 32;

/// Stops at the first key of a tree.
class AnyKey final : public kvstore::ordered::ScanVisitor {
 public:
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view, kvstore::ordered::Value) override {
    found_ = true;
    return false;
  }
  bool found() const { return found_; }

 private:
  bool found_ = false;
};

bool holds_keys(cc::Index& index, epoch::EpochManager& epochs) {
  if (!index.ordered()) return index.hash().statistics().keys != 0;
  epoch::Slot* const slot = epochs.acquire_slot();
  if (slot == nullptr) return true;
  epochs.enter(*slot);
  AnyKey any;
  index.tree().scan({}, kvstore::ordered::Direction::kForward, any);
  epochs.leave(*slot);
  epochs.release_slot(slot);
  return any.found();
}

void add(const htm::Counters& counters, HtmStatistics& sum) {
  const auto aborts = [&](htm::Cause cause) {
    return counters.aborts[static_cast<std::size_t>(cause)].load(std::memory_order_relaxed);
  };
  sum.commits += counters.commits.load(std::memory_order_relaxed);
  sum.fallbacks += counters.fallbacks.load(std::memory_order_relaxed);
  sum.conflicts += aborts(htm::Cause::kConflict);
  sum.capacity += aborts(htm::Cause::kCapacity);
  sum.explicit_aborts += aborts(htm::Cause::kExplicit);
  sum.others += aborts(htm::Cause::kOther);
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const Options& options, base::FileSystem& files) {
  const Status checked = check_options(options);
  if (!checked.ok()) return checked;
  auto htm = htm::Support::open(options.htm, options.htm_simulation);
  if (!htm.ok()) return htm.status();
  std::unique_ptr<Storage> storage;
  if (!options.directory.empty()) {
    auto opened = Storage::open(options, files);
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
    std::fprintf(stderr,
                 "granary: warning: no 2 MiB pages; running on 4 KiB pages, which is slower "
                 "(mend: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled)\n");
  }
  std::unique_ptr<Engine> engine(new Engine(options, std::move(*region), limit, std::move(storage), std::move(*htm)));
  if (const Status recovered = engine->recover(); !recovered.ok()) return recovered;
  engine->start();
  return engine;
}

Engine::Engine(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes,
               std::unique_ptr<Storage> storage, std::unique_ptr<htm::Support> htm)
    : options_(options),
      storage_(std::move(storage)),
      htm_(std::move(htm)),
      region_(std::move(region)),
      slabs_(*region_, {.limit_bytes = limit_bytes,
                        .reserve_bytes = limit_bytes / kReserveShare,
                        .simple = options.simple_allocator}),
      epochs_({.snapshot_epochs = options.snapshot_epochs,
               .max_open_epochs = options.max_open_epochs,
               .first_epoch = storage_ == nullptr ? 1 : storage_->first_epoch()}),
      shared_{.settings = {.snapshots = options.snapshots,
                           .garbage_collection = options.garbage_collection,
                           .overwrite_in_place = options.overwrite_in_place,
                           .global_tids = options.tid_source == TidSource::kGlobal,
                           .small_log_records = options.small_log_records},
              .epochs = epochs_,
              .slabs = slabs_,
              .waiter = waiter_,
              .htm = htm_->backend() == htm::Backend::kOff ? nullptr : htm_.get()},
      schema_slabs_(std::make_unique<memory::SlabCache>(slabs_)),
      schema_nodes_(std::make_unique<kvstore::NodeMemory>(*schema_slabs_, epochs_)) {}

Engine::~Engine() {
  const Status closed = close();
  if (!closed.ok() && !failure_told_.load(std::memory_order_relaxed))
    std::fprintf(stderr, "granary: warning: closing the database: %s\n", closed.message().c_str());
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
  if (background_.joinable()) background_.join();
  if (checkpoints_.joinable()) checkpoints_.join();
}

Status Engine::close() {
  if (closed_) return {};
  closed_ = true;
  stop();
  if (storage_ == nullptr || shared_.log == nullptr) return {};
  epochs_.tick();  // no transaction is open: the epoch of the last one is complete now
  return storage_->close();
}

Status Engine::recover() {
  if (storage_ == nullptr) return {};
  for (const recovery::TableEntry& entry : storage_->tables()) {
    const std::lock_guard lock(schema_mutex_);
    auto table = add_table(entry);
    if (!table.ok()) return table.status();
    undeclared_.insert(entry.name);
    if (!entry.base) continue;
    txn::TableCore* const base = tables_[*entry.base].get();
    (*table)->make_index_of(base, entry.index);
    base->add_index(*table);
  }
  if (const Status filled = fill(); !filled.ok()) return filled;
  if (const Status begun = storage_->begin(epochs_); !begun.ok()) return begun;
  shared_.log = &storage_->log();
  for (txn::WorkerCore* const worker : idle_workers_) {
    if (const Status connected = connect_ring(*worker); !connected.ok()) return connected;
  }
  return storage_->lost() ? checkpoint() : Status();
}

/// Workers of its own load the data; they are the first that register_worker() hands out later.
Status Engine::fill() {
  const std::uint32_t threads = std::min(options_.max_workers, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<cc::WorkerState*> states;
  std::vector<txn::WorkerCore*> workers;
  for (std::uint32_t i = 0; i < threads; ++i) {
    auto worker = take_worker();
    if (!worker.ok()) return worker.status();
    workers.push_back(*worker);
    states.push_back(&(*worker)->state());
  }
  const Status filled = storage_->recover(all_tables(), states);
  if (filled.ok()) widen_recovered_tables();
  for (txn::WorkerCore* const worker : workers) give_worker(worker);
  return filled;
}

Status Engine::connect_ring(txn::WorkerCore& worker) {
  auto ring = shared_.log->add_worker(worker.id());
  if (!ring.ok()) return ring.status();
  worker.state().ring = *ring;
  return {};
}

std::vector<txn::TableCore*> Engine::all_tables() const {
  std::vector<txn::TableCore*> tables;
  for (const auto& table : tables_) tables.push_back(table.get());
  return tables;
}

std::uint64_t Engine::released_epoch() const {
  if (shared_.log == nullptr || options_.release == Release::kCommit) return epochs_.current();
  return shared_.log->durable().current();
}

Status Engine::wait_released(std::uint64_t epoch) const {
  if (shared_.log == nullptr || options_.release == Release::kCommit) return {};
  return shared_.log->durable().wait(epoch);
}

Status Engine::log_status() const {
  if (shared_.log == nullptr || !shared_.log->durable().failed()) return {};
  failure_told_.store(true, std::memory_order_relaxed);
  return shared_.log->durable().cause();
}

const RecoveryReport& Engine::recovery_report() const {
  static const RecoveryReport kNone;
  return storage_ == nullptr ? kNone : storage_->report();
}

Status Engine::checkpoint() {
  if (storage_ == nullptr)
    return {StatusCode::kFailedPrecondition,
            "a database in memory only (Options::directory is empty) has no checkpoints"};
  const auto tables = [this] {
    const std::lock_guard lock(schema_mutex_);
    return all_tables();
  };
  return storage_->checkpoint(tables, shared_);
}

void Engine::checkpoint_now_and_then() {
  const auto period = std::chrono::seconds(options_.checkpoint_interval_s);
  std::unique_lock lock(stop_mutex_);
  while (!stop_signal_.wait_for(lock, period, [this] { return stopping_; })) {
    lock.unlock();
    if (const Status done = checkpoint(); !done.ok())
      std::fprintf(stderr, "granary: warning: checkpoint: %s\n", done.message().c_str());
    lock.lock();
  }
}

void Engine::run_background() {
  const auto period = std::chrono::milliseconds(options_.epoch_ms);
  auto next = std::chrono::steady_clock::now() + period;
  std::unique_lock lock(stop_mutex_);
  while (!stop_signal_.wait_until(lock, next, [this] { return stopping_; })) {
    lock.unlock();
    step();
    // After a pause of the whole machine, go on from now instead of catching up in a burst.
    next = std::max(next + period, std::chrono::steady_clock::now());
    lock.lock();
  }
}

bool Engine::step() {
  const bool advanced = epochs_.tick();
  if (shared_.log != nullptr) {
    if (options_.background == Background::kManual) {
      shared_.log->step();
    } else if (advanced) {
      shared_.log->nudge();
    }
  }
  report_stall();
  collect_for_idle();
  return advanced;
}

/// Frees what workers that are gone left behind, and passes their free blocks on.
void Engine::collect_for_idle() {
  constexpr std::size_t kBudget = 4096;
  const std::lock_guard lock(workers_mutex_);  // nobody takes the worker meanwhile
  for (txn::WorkerCore* worker : idle_workers_) {
    if (!worker->has_garbage()) continue;
    worker->collect(kBudget);
    worker->state().slabs.release();
  }
}

/// The watchdog (I13): one line for each worker that holds the epoch back for a second, not one a tick.
void Engine::report_stall() {
  if (options_.background != Background::kThreads) return;
  const epoch::EpochManager::Stall stall = epochs_.stall();
  const std::uint64_t second = std::max<std::uint64_t>(1, 1000 / options_.epoch_ms);
  if (stall.ticks < second) {
    reported_stall_ = 0;
    return;
  }
  if (reported_stall_ != 0) return;
  reported_stall_ = stall.ticks;
  std::string who = "a worker";
  const std::lock_guard lock(workers_mutex_);
  for (const auto& worker : workers_) {
    if (worker->owns_slot(epochs_.slot_at(stall.slot))) who = fmt::format("worker {}", worker->id());
  }
  std::fprintf(stderr, "granary: warning: %s has kept a transaction open for over a second; epoch %llu cannot end\n",
               who.c_str(), static_cast<unsigned long long>(epochs_.current()));
}

Status Engine::check_new(const recovery::TableEntry& entry) const {
  const std::string& name = entry.name;
  if (name.empty() || name.size() > kMaxNameBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("a table's or index's name has {} bytes; expected 1 to {}", name.size(), kMaxNameBytes));
  }
  if (tables_by_name_.contains(name)) {
    return Status(StatusCode::kAlreadyExists, fmt::format("there is already a table or index named '{}'", name));
  }
  if (tables_.size() >= kMaxTables) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("there are already {} tables and indexes, the most allowed", kMaxTables));
  }
  if (entry.max_value_bytes > kMaxValueBytes) {
    return Status(StatusCode::kInvalidArgument, fmt::format("table '{}': max_value_bytes is {}; expected at most {}",
                                                            name, entry.max_value_bytes, kMaxValueBytes));
  }
  return {};
}

std::span<kvstore::hash::Bucket> Engine::make_main_header(std::uint64_t keys) {
  const std::uint64_t buckets = kvstore::hash::Table::buckets_for(keys);
  char* const header = slabs_.take_run(buckets * sizeof(kvstore::hash::Bucket));
  if (header == nullptr) return {};
  main_header_bytes_.fetch_add(buckets * sizeof(kvstore::hash::Bucket), std::memory_order_relaxed);
  return {reinterpret_cast<kvstore::hash::Bucket*>(header), buckets};
}

Result<txn::TableCore*> Engine::add_table(const recovery::TableEntry& entry) {
  if (const Status good = check_new(entry); !good.ok()) return good;
  std::span<kvstore::hash::Bucket> main_header;
  if (entry.hash_keys) {
    main_header = make_main_header(*entry.hash_keys);
    if (main_header.empty()) return no_room_for_header(entry.name, *entry.hash_keys);
  }
  auto table =
      std::make_unique<txn::TableCore>(static_cast<std::uint32_t>(tables_.size()), entry.name, entry.max_value_bytes,
                                       shared_, *schema_nodes_, main_header, region_->base());
  if (!table->tree().ok()) {
    return Status(StatusCode::kResourceExhausted, fmt::format("table '{}': the memory limit is reached", entry.name));
  }
  if (entry.shared) table->make_shared();
  tables_.push_back(std::move(table));
  tables_by_name_.emplace(entry.name, tables_.back().get());
  return tables_.back().get();
}

/// Makes a new table or index durable, or takes the recovered one if it is the same.
Result<txn::TableCore*> Engine::declare(const recovery::TableEntry& entry) {
  if (const auto recovered = undeclared_.find(entry.name); recovered != undeclared_.end()) {
    txn::TableCore* const table = tables_by_name_.find(entry.name)->second;
    const recovery::TableEntry known = storage_->table(table->id());
    if (const std::string other = difference(known, entry); !other.empty()) {
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("'{}' was recovered from '{}' with another definition: {}", entry.name,
                                options_.directory, other));
    }
    undeclared_.erase(recovered);
    return table;
  }
  auto table = add_table(entry);
  if (!table.ok() || storage_ == nullptr) return table;
  recovery::TableEntry added = entry;
  added.id = (*table)->id();
  if (const Status saved = storage_->add_table(added); !saved.ok()) {
    tables_by_name_.erase(entry.name);  // nobody has seen it
    tables_.pop_back();
    return saved;
  }
  return table;
}

Result<txn::TableCore*> Engine::create_table(std::string_view name, const TableOptions& table_options) {
  if (table_options.shared) {
    if (const Status fits = check_shared(name, table_options, options_); !fits.ok()) return fits;
  }
  recovery::TableEntry entry;
  entry.name = name;
  entry.max_value_bytes = table_options.max_value_bytes == 0 ? kMaxValueBytes : table_options.max_value_bytes;
  if (table_options.index == IndexKind::kHash) {
    if (const Status good = check_expected_keys(name, table_options.expected_keys); !good.ok()) return good;
    entry.hash_keys = table_options.expected_keys;
  }
  entry.shared = table_options.shared;
  const std::lock_guard lock(schema_mutex_);
  return declare(entry);
}

Result<txn::TableCore*> Engine::create_index(txn::TableCore* base, std::string_view name,
                                             const IndexOptions& index_options) {
  const std::lock_guard lock(schema_mutex_);
  if (base == nullptr || !base->belongs_to(shared_)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("index '{}': the table handle is empty or of another database", name));
  }
  if (const std::string error = txn::index_options_error(index_options); !error.empty()) {
    return Status(StatusCode::kInvalidArgument, fmt::format("index '{}': {}", name, error));
  }
  recovery::TableEntry entry;
  entry.name = name;
  entry.max_value_bytes = kMaxKeyBytes;
  entry.base = base->id();
  entry.index = index_options;
  if (undeclared_.contains(name)) return declare(entry);
  if (holds_keys(base->index(), epochs_)) {
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("index '{}': table '{}' already holds records; create indexes first", name, base->name()));
  }
  auto index = declare(entry);
  if (!index.ok()) return index.status();
  (*index)->make_index_of(base, index_options);
  base->add_index(*index);
  return index;
}

Result<txn::TableCore*> Engine::find_table(std::string_view name, bool index) const {
  const std::lock_guard lock(schema_mutex_);
  const auto found = tables_by_name_.find(name);
  if (found == tables_by_name_.end() || (found->second->base() != nullptr) != index) {
    return Status(StatusCode::kNotFound, fmt::format("there is no {} named '{}'", index ? "index" : "table", name));
  }
  return found->second;
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
  worker->state().slabs.release();
  worker->detach();
  const std::lock_guard lock(workers_mutex_);
  idle_workers_.push_back(worker);
}

Statistics Engine::statistics() const {
  Statistics sum;
  const std::lock_guard lock(workers_mutex_);
  std::int64_t records = 0;
  std::int64_t nodes = schema_slabs_->bytes_in_use(memory::SlabKind::kNode);
  std::int64_t versions = 0;
  for (const auto& worker : workers_) {
    const cc::WorkerState& state = worker->state();
    sum.commits += worker->commits();
    sum.snapshots += worker->snapshots();
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) sum.aborts[reason] += worker->aborts(reason);
    records +=
        state.slabs.bytes_in_use(memory::SlabKind::kRecord) + state.slabs.bytes_in_use(memory::SlabKind::kSharedRecord);
    nodes += state.slabs.bytes_in_use(memory::SlabKind::kNode);
    versions += state.version_bytes.load(std::memory_order_relaxed);
    sum.versions_created += state.versions_created.load(std::memory_order_relaxed);
    sum.ring_waits += state.ring_waits.load(std::memory_order_relaxed);
    sum.garbage_items += state.garbage_items.load(std::memory_order_relaxed);
    if (state.region != nullptr) add(state.region->counters(), sum.htm);
  }
  sum.htm.backend = htm::name(htm_->backend());
  sum.records_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, records));
  sum.index_bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, nodes)) + main_header_bytes_.load(std::memory_order_relaxed);
  sum.version_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, versions));
  sum.reserved_bytes = slabs_.bytes_reserved();
  sum.epoch = epochs_.current();
  if (shared_.log != nullptr) {
    const log::LogStatistics log = shared_.log->statistics();
    sum.durable_epoch = shared_.log->durable().current();
    sum.log_bytes = log.bytes;
    sum.log_entries = log.entries;
    sum.log_syncs = log.syncs;
    storage_->checkpoints().add_to(&sum);
  }
  sum.stalled_ticks = epochs_.stall().ticks;
  return sum;
}

}  // namespace granary::db
