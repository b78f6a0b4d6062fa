#include "src/db/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "src/base/notice.h"
#include "src/base/tsc_clock.h"
#include "src/base/with_memory.h"
#include "src/cc/protocols.h"
#include "src/cc/tictoc/version_ends.h"
#include "src/db/memory_limit.h"
#include "src/db/options_check.h"
#include "src/db/released.h"
#include "src/memory/touch_ahead.h"

namespace granary::db {
namespace {

/// Returns how many workers there may be: fewer than the option says, if the protocol must tell each from the others in
/// a record's lock.
std::uint32_t most_workers(const Options& options) {
  const std::uint32_t most = cc::abilities_of(cc::Protocols::number_of(options.protocol).value()).workers;
  return most == 0 ? options.max_workers : std::min(most, options.max_workers);
}

Status is_closed() {
  return {StatusCode::kFailedPrecondition,
          "the database is closed: it takes no more workers, tables or transactions, and can only be destroyed"};
}

/// How many times in an epoch period a node of a cluster tells the leader how far it is.
constexpr unsigned kPublishings = 8;

}  // namespace

/// Loads fast first, and frugally if that found too little memory. Data that fit into memory may need somewhat more
/// while several threads load them, since deleted records wait for older writes of their keys.
Result<std::unique_ptr<Engine>> Engine::open(const Options& options, base::FileSystem& files, const ClusterPart& part) {
  const Status checked = check_options(options);
  if (!checked.ok()) return checked;
  bool try_frugally = false;
  auto opened = open(options, files, part, Loading::kFast, try_frugally);
  return try_frugally ? open(options, files, part, Loading::kFrugal, try_frugally) : std::move(opened);
}

/// Sets `try_frugally` if it failed for want of memory and there is a way that takes less.
Result<std::unique_ptr<Engine>> Engine::open(const Options& options, base::FileSystem& files, const ClusterPart& part,
                                             Loading loading, bool& try_frugally) {
  try_frugally = false;
  auto htm = htm::Support::open(options.htm, options.htm_simulation);
  if (!htm.ok()) return htm.status();
  if ((*htm)->backend() == htm::Backend::kOff && runs_in_regions(options)) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("Options::protocol is '{}', which runs transactions in HTM regions, but Options::htm is "
                              "kAuto and no region commits on this processor: it has no Intel TSX, or firmware or the "
                              "kernel (tsx=off) disabled it",
                              options.protocol));
  }
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
  if (const Status recovered = base::with_memory([&] { return engine->recover(loading); }); !recovered.ok()) {
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
                        .left_to_others_bytes = limit_bytes / kLeftToOthersShare,
                        .simple = options.simple_allocator}),
      epochs_({.snapshot_epochs = options.snapshot_epochs,
               .max_open_epochs = options.max_open_epochs,
               .first_epoch = storage_ == nullptr ? 1 : storage_->recovery().first_epoch(),
               .control = control}),
      version_ends_(options.tictoc_history ? std::make_unique<cc::tictoc::VersionEnds>() : nullptr),
      shared_{.settings = {.protocol = cc::Protocols::number_of(options.protocol).value(),
                           .stamps_reads = stamps_reads(options),
                           .in_regions = runs_in_regions(options),
                           .reads_parts = reads_parts(options),
                           .writes_parts = reads_parts(options) && options.overwrite_in_place &&
                                           htm_->backend() == htm::Backend::kOff,
                           .snapshots = options.snapshots,
                           .garbage_collection = options.garbage_collection,
                           .overwrite_in_place = options.overwrite_in_place,
                           .global_tids = options.tid_source == TidSource::kGlobal,
                           .claim_without_waiting = options.tictoc_no_wait,
                           .look_before_claiming = options.tictoc_preempt,
                           .session_order = options.session_order,
                           .small_log_records = options.small_log_records,
                           .epoch_ms = options.background == Background::kThreads ? options.epoch_ms : 0},
              .epochs = epochs_,
              .slabs = slabs_,
              .waiter = waiter_,
              .htm = htm_->backend() == htm::Backend::kOff ? nullptr : htm_.get(),
              .version_ends = version_ends_.get()},
      schema_(options_, shared_, *region_, storage_ == nullptr ? nullptr : &storage_->manifest()),
      workers_(shared_, most_workers(options)) {}

Status Engine::check_own() const { return inherited() ? base::used_in_fork("opened the database") : Status(); }

Status Engine::check_usable() const {
  if (Status own = check_own(); !own.ok()) return own;
  return closed_.load(std::memory_order_relaxed) ? is_closed() : Status();
}

void Engine::start() {
  if (options_.background != Background::kThreads) return;
  // A leader advances E no sooner than it sees that all nodes have arrived in it, so they tell it often.
  const unsigned parts = epochs_.in_cluster() ? kPublishings : 1;
  const auto period = std::chrono::microseconds(std::uint64_t{1000} * options_.epoch_ms / parts);
  const auto first = std::chrono::steady_clock::now() + period;
  turned_us_.store(base::monotonic_us(), std::memory_order_relaxed);
  epoch_thread_.emplace("gr-epoch", first, [this, parts, period, part = 0U, next = first]() mutable {
    turned_us_.store(base::monotonic_us(), std::memory_order_relaxed);
    if (++part % parts == 0) {
      step();
    } else {
      publish();
    }
    // After a pause of the whole machine, go on from now instead of catching up in a burst.
    return next = std::max(next + period, std::chrono::steady_clock::now());
  });
  if (memory::TouchAhead::of_use(options_.numa_node)) start_touching(first);
  if (storage_ != nullptr && options_.checkpoint_interval_s != 0) start_checkpoints();
}

void Engine::start_touching(base::PeriodicThread::Clock::time_point first) {
  const auto touch_period = std::chrono::milliseconds(options_.epoch_ms);
  touch_thread_.emplace("gr-touch", first,
                        [ahead = memory::TouchAhead(*region_, options_.prefault_bytes), touch_period]() mutable {
                          ahead.step();
                          return std::chrono::steady_clock::now() + touch_period;
                        });
}

/// If a node's stored data was given up (Options::salvage), the first checkpoint comes soon, because it makes the next
/// opening possible without a salvage. The thread asks for losses only when the node has all of its records, since the
/// logs of other hosts may have losses, too.
void Engine::start_checkpoints() {
  const auto in = [](std::uint64_t seconds) {
    return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  };
  constexpr std::uint64_t kSoon = 1;
  auto due = in(options_.checkpoint_interval_s);
  const auto first = epochs_.in_cluster() ? in(kSoon) : due;
  checkpoint_thread_.emplace("gr-checkpoint", first, [this, in, due, saved = false]() mutable {
    if (!base::with_memory([this] { return may_checkpoint(); }).ok()) return in(kSoon);
    const bool urgent = epochs_.in_cluster() && !saved && storage_->recovery().lost();
    if (!urgent && std::chrono::steady_clock::now() < due) return due;
    // The checkpoint may take as long as it needs, since the next one would have to write everything anew. Closing the
    // database cancels it.
    const Status done = checkpoint(log::DurableEpoch::kForever);
    saved = saved || done.ok();
    if (!done.ok() && !storage_->checkpoints().cancelled()) tell_failed_checkpoint(done);
    due = in(options_.checkpoint_interval_s);
    return urgent && !saved ? in(kSoon) : due;
  });
}

void Engine::tell_failed_checkpoint(const Status& cause) const {
  base::if_memory([&] {
    base::tell(options_.notices, {.severity = NoticeSeverity::kWarning,
                                  .topic = NoticeTopic::kCheckpoint,
                                  .text = "checkpoint: " + cause.message()});
  });
}

Status Engine::recover(Loading loading) {
  if (storage_ == nullptr) return {};
  slabs_.lower_reserve(reserve_of_loading(slabs_.limit_bytes()));
  if (const Status restored = schema_.restore(loading == Loading::kFrugal); !restored.ok()) return restored;
  if (const Status filled = fill(loading); !filled.ok()) return filled;
  slabs_.restore_reserve();
  schema_.widen_recovered();
  base::sync_point("engine.loaded");
  if (const Status begun = storage_->begin(epochs_); !begun.ok()) return begun;
  base::sync_point("engine.log_begun");
  shared_.log = &storage_->log();  // from here on end() closes the log, also after an error
  if (const Status sealed = schema_.restore_seals(); !sealed.ok()) return sealed;
  if (const Status connected = workers_.connect_rings(); !connected.ok()) return connected;
  // In a cluster the checkpoint after a salvage has to wait until all nodes serve (start_checkpoints()).
  const bool salvaged = storage_->recovery().lost() && !epochs_.in_cluster();
  return salvaged ? checkpoint(Database::kReleaseTimeout_us, Beside::kNothing) : Status();
}

Status Engine::take_from(base::FileSystem& files, const OtherLog& other, unsigned threads) {
  if (storage_ == nullptr) return {};
  const Status taken =
      load_with(std::clamp(threads, 1u, options_.max_workers), [&](std::span<cc::WorkerState* const> states) {
        return storage_->recovery().take_from(files, other, schema_.tables(), states);
      });
  if (taken.ok()) schema_.widen_recovered();
  return taken;
}

const std::vector<LoadedLog>& Engine::loaded_logs() const {
  static const std::vector<LoadedLog> kNone;
  return storage_ == nullptr ? kNone : storage_->recovery().loaded();
}

Status Engine::have_all() {
  if (storage_ == nullptr || storage_->recovery().has_all()) return {};
  auto worker = workers_.take();
  if (!worker.ok()) return worker.status();
  const Status had =
      base::with_memory([&] { return storage_->recovery().have_all(schema_.tables(), (*worker)->state()); });
  workers_.give_back(*worker);
  return had;
}

Status Engine::fill(Loading loading) {
  const std::uint32_t cores = loading == Loading::kFrugal ? 1 : recovery_threads();
  return load_with(std::min(options_.max_workers, cores), [&](std::span<cc::WorkerState* const> states) {
    return storage_->recovery().recover(schema_.tables(), states, loading == Loading::kFrugal);
  });
}

/// The workers are given back, and register_worker() hands them out before any others.
Status Engine::load_with(std::uint32_t threads, FunctionRef<Status(std::span<cc::WorkerState* const>)> load) {
  std::vector<cc::WorkerState*> states;
  std::vector<txn::WorkerCore*> workers;
  Status status;
  while (workers.size() < threads && status.ok()) {
    auto worker = workers_.take();
    status = worker.status();
    if (!worker.ok()) break;
    workers.push_back(*worker);
    states.push_back(&(*worker)->state());
  }
  slabs_.leave_to_others(0);  // what could be held can be opened again
  if (status.ok()) status = base::with_memory([&] { return load(states); });
  slabs_.leave_to_others(slabs_.options().left_to_others_bytes);
  for (txn::WorkerCore* const worker : workers) workers_.give_back(worker);
  return status;
}

std::uint64_t Engine::released_epoch() const {
  if (shared_.log == nullptr || options_.release == Release::kCommit) return epochs_.current();
  return durable_everywhere(epochs_, *shared_.log);
}

Status Engine::wait_released(std::uint64_t epoch, std::uint64_t timeout_us) const {
  if (has_closed_.load(std::memory_order_acquire)) return epoch <= released_epoch() ? Status() : log_status();
  if (shared_.log == nullptr || options_.release == Release::kCommit) return {};
  return wait_durable(epoch, timeout_us);
}

/// Precondition: there is a log.
Status Engine::wait_durable(epoch::Epoch epoch, std::uint64_t timeout_us) const {
  return wait_durable_everywhere(
      epochs_, *shared_.log, epoch,
      {.timeout_us = timeout_us, .obstacle = &obstacle_, .by_hand = options_.background == Background::kManual});
}

Status Engine::log_status() const {
  if (log_has_failed()) failure_told_.store(true, std::memory_order_relaxed);
  const Status seen = seen_log_status();
  return seen.ok() && has_closed_.load(std::memory_order_acquire) ? is_closed() : seen;
}

Status Engine::seen_log_status() const {
  if (shared_.log == nullptr) return {};
  return log_has_failed() ? shared_.log->durable().cause() : shared_.log->stall();
}

const RecoveryReport& Engine::recovery_report() const {
  static const RecoveryReport kNone;
  return storage_ == nullptr ? kNone : storage_->recovery().report();
}

/// A node that waits for the others to start does not know them yet: their logs may turn out to be others than those
/// that it has loaded, and after a checkpoint it would not read them any more.
Status Engine::may_checkpoint() const {
  if (!storage_->recovery().has_all())
    return {StatusCode::kUnavailable, "some of the node's records are still to come from other hosts' logs"};
  if (!epochs_.serves())
    return {StatusCode::kUnavailable,
            "the node does not serve, and only with the others it is known that its data are whole"};
  return {};
}

Status Engine::checkpoint(std::uint64_t timeout_us, Beside beside) {
  if (storage_ == nullptr)
    return {StatusCode::kFailedPrecondition,
            "a database in memory only (Options::directory is empty) has no checkpoints"};
  if (const Status may = may_checkpoint(); !may.ok()) return may;
  return base::with_memory([&] {
    return storage_->checkpoints().take([this] { return schema_.tables(); }, shared_, timeout_us, obstacle_, beside);
  });
}

Status Engine::seal(txn::TableCore* table, std::uint64_t timeout_us) {
  if (const Status good = schema_.check_seal(table); !good.ok()) return good;
  // The rows must be durable whatever Options::release says of results: after a power loss the manifest would say that
  // the table is sealed, and nobody could put back what the log has lost.
  return schema_.seal(*table, timeout_us, [this](epoch::Epoch epoch, std::uint64_t left_us) {
    return shared_.log == nullptr ? Status() : wait_durable(epoch, left_us);
  });
}

Status Engine::resize(txn::TableCore* table, std::uint64_t expected_keys) {
  if (const Status good = schema_.check_resize(table, expected_keys); !good.ok()) return good;
  std::unique_lock<std::mutex> no_checkpoint;
  if (storage_ != nullptr) no_checkpoint = storage_->checkpoints().hold_off();
  const auto no_worker = workers_.hold_still();  // meanwhile nobody frees the garbage of idle workers
  return schema_.resize(*table, expected_keys);
}

bool Engine::step() {
  const bool advanced = epochs_.tick(durable());
  const bool threads = options_.background == Background::kThreads;
  if (shared_.log != nullptr) {
    if (!threads) {
      shared_.log->step();
    } else if (advanced) {
      shared_.log->nudge();
    }
  }
  base::if_memory([&] {
    if (threads) stall_watch_.look();
    if (shared_.log != nullptr) ring_watch_.look(*shared_.log);
  });
  relief_.look();
  return advanced;
}

epoch::Epoch Engine::durable() const {
  return shared_.log == nullptr ? epoch::kIdle : shared_.log->durable().current();
}

}  // namespace granary::db
