#include "src/log/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <new>

#include "src/base/directory.h"
#include "src/base/region_mark.h"
#include "src/base/test_hooks.h"
#include "src/base/threads.h"
#include "src/base/with_memory.h"

namespace granary::log {
namespace {

/// Returns how many segments each logger sets aside.
std::uint64_t spares(const LogOptions& options) {
  const std::uint64_t all = options.segment_bytes * options.loggers;
  return (options.reserve_bytes + all - 1) / all;
}

/// Returns the format version of the segments and the rings.
std::uint32_t version_of(const LogOptions& options) { return options.cluster ? kClusterFormatVersion : kFormatVersion; }

/// Refuses a reserve that the disks have no room for, before any of it is taken: a disk that was filled up is of no
/// use to others either.
Status check_room(const LogOptions& options) {
  struct Need {
    std::string directory;
    std::uint64_t bytes = 0;
  };
  std::map<std::uint64_t, Need> by_device;
  for (std::uint32_t logger = 0; logger < options.loggers && options.reserve_bytes != 0; ++logger) {
    const std::string& directory = options.directories[logger % options.directories.size()];
    const auto identity = base::identity(*options.files, directory);
    if (!identity.ok()) return identity.status();
    Need& need = by_device[identity->device];
    need.directory = directory;
    need.bytes += spares(options) * options.segment_bytes;
  }
  for (const auto& [device, need] : by_device) {
    const auto free = base::free_bytes(*options.files, need.directory);
    if (!free.ok()) return free.status();
    if (need.bytes <= *free) continue;
    return {StatusCode::kDiskFull,
            fmt::format("log_reserve_bytes asks for {} bytes of log segments on the file system of '{}', which has {} "
                        "bytes free: lower it, make room, or put the log elsewhere with log_directories",
                        need.bytes, need.directory, *free)};
  }
  return {};
}

/// Cleans up after an opening that failed: removes the files that were set aside, and the segments of the generation,
/// which no manifest names yet. If a file cannot be removed, the next opening removes it.
void remove_begun(const LogOptions& options) {
  const std::string any = segment_name(options.generation, 0, 0);
  const std::string segments = any.substr(0, any.find("-l") + 1);  // "log-g00000003-"
  for (const std::string& directory : options.directories) {
    const auto names = options.files->list(directory);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (is_spare_name(name) || name.starts_with(segments))
        static_cast<void>(options.files->remove(directory + "/" + name));
    }
  }
}

}  // namespace

Result<std::unique_ptr<Log>> Log::open(LogOptions options, const epoch::EpochManager& epochs, epoch::Epoch durable,
                                       std::span<const std::string_view> adopted) {
  if (const Status room = check_room(options); !room.ok()) return room;
  const LogOptions made = options;
  std::unique_ptr<Log> log(new Log(std::move(options), epochs, durable));
  for (const auto& logger : log->loggers_) {
    const bool first = logger == log->loggers_.front();
    const Status opened = logger->open(first ? adopted : std::span<const std::string_view>());
    if (opened.ok()) continue;
    log.reset();
    remove_begun(made);
    return opened;
  }
  return log;
}

Status Log::start() {
  for (const auto& logger : loggers_) {
    if (const Status noted = logger->note_named(); !noted.ok()) return noted;
  }
  if (!options_.threads) return {};
  for (const auto& logger : loggers_) threads_.emplace_back([this, &logger] { run(*logger); });
  return {};
}

Log::Log(LogOptions options, const epoch::EpochManager& epochs, epoch::Epoch durable)
    : options_(std::move(options)),
      durable_(options_.loggers, durable) {
  for (std::uint32_t i = 0; i < options_.loggers; ++i) {
    SegmentHeader identity;
    identity.version = version_of(options_);
    identity.database = options_.database;
    identity.logger = i;
    identity.generation = options_.generation;
    identity.stamp = options_.stamp;
    loggers_.push_back(
        std::make_unique<Logger>(LoggerOptions{.files = options_.files,
                                               .directory = options_.directories[i % options_.directories.size()],
                                               .identity = identity,
                                               .segment_bytes = options_.segment_bytes,
                                               .spares = spares(options_),
                                               .codec = options_.codec,
                                               .alone = options_.loggers == 1 && !options_.cluster},
                                 epochs, durable_));
  }
}

Log::~Log() { stop(); }

void Log::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Log::step(Logger& logger) {
  try {
    return logger.step(waiting_.load(std::memory_order_relaxed) != 0);
  } catch (const std::bad_alloc&) {
    durable_.fail(base::no_memory());  // the logger does not know how far its turn has come
    return false;
  }
}

void Log::run(Logger& logger) {
  base::name_thread("gr-logger");
  // This is long enough to leave the cores to the workers, and short enough that no ring fills up meanwhile.
  constexpr auto kPause = std::chrono::milliseconds(2);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::uint64_t seen = nudges_;
    lock.unlock();
    step(logger);
    lock.lock();
    wake_.wait_for(lock, kPause, [&] { return stopping_ || nudges_ != seen; });
  }
}

/// Removes the ring's file again if there is no memory to list the ring: the file would keep the worker's number taken.
Result<Ring*> Log::add_worker(std::uint32_t worker) {
  std::string path = options_.reliable_directory + "/" + ring_name(worker);
  const auto logger = static_cast<std::uint32_t>(worker % loggers_.size());
  const Ring::Identity identity{options_.database, options_.generation, worker, version_of(options_), logger,
                                options_.stamp};
  auto ring = Ring::create(path, identity, options_.ring_bytes);
  if (!ring.ok()) return ring.status();
  const std::lock_guard lock(mutex_);
  try {
    rings_.reserve(rings_.size() + 1);
    ring_paths_.reserve(ring_paths_.size() + 1);
    loggers_[logger]->add_ring(ring->get());
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  rings_.push_back(std::move(*ring));
  for (const auto& made : rings_) made->note_rings(static_cast<std::uint32_t>(rings_.size()));
  ring_paths_.push_back(std::move(path));
  return rings_.back().get();
}

LogStatistics Log::statistics() const {
  LogStatistics sum;
  for (const auto& logger : loggers_) {
    const LoggerCounters& counters = logger->counters();
    sum.bytes += counters.bytes.load(std::memory_order_relaxed);
    sum.entries += counters.entries.load(std::memory_order_relaxed);
    sum.syncs += counters.syncs.load(std::memory_order_relaxed);
    sum.segments += logger->segments();
  }
  return sum;
}

bool Log::step() {
  bool any = false;
  for (const auto& logger : loggers_) any |= step(*logger);
  return any;
}

void Log::nudge() {
  {
    const std::lock_guard lock(mutex_);
    ++nudges_;
  }
  wake_.notify_all();
}

/// Returns a logger whose device has not answered for too long; nullptr if there is none.
const Logger* Log::silent_logger() const {
  const auto silent = std::find_if(loggers_.begin(), loggers_.end(),
                                   [this](const auto& logger) { return logger->silent_us() >= silence_us_; });
  return silent == loggers_.end() ? nullptr : silent->get();
}

Status Log::stall() const {
  const Logger* const silent = silent_logger();
  if (silent == nullptr) return {};
  return {StatusCode::kUnavailable,
          fmt::format("the device of the log directory '{}' has not answered for {:.1f} s: a transaction that writes "
                      "is given up while its log ring is full, and commits go on when the device answers",
                      silent->directory(), static_cast<double>(silent->silent_us()) / 1e6)};
}

bool Log::wait_for_room(base::Waiter& waiter, Ring& ring, std::uint64_t bytes) {
  base::outside_region();
  waiting_.fetch_add(1, std::memory_order_relaxed);
  nudge();
  bool room = ring.has_room(bytes);
  for (std::uint32_t turn = 0; !room && !durable_.failed(); ++turn) {
    constexpr std::uint32_t kSpins = 64, kRests = 4096;
    if (!options_.threads) {
      step();
    } else if (turn < kSpins) {
      waiter.pause(turn);
    } else {
      if (silent_logger() != nullptr) break;
      // This waits for a disk, not for a lock. So the waiter lets the other transactions of this thread go on, or
      // leaves the core to the logger. If those other transactions have used up all room for long, they wait, too.
      if (turn < kRests) {
        waiter.rest();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }
    room = ring.has_room(bytes);
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return room && !durable_.failed();
}

Status Log::close() {
  stop();
  step();
  if (durable_.failed()) return durable_.cause();
  const std::lock_guard lock(mutex_);
  // Behind the last marker there may be more, which was synced to give the rings room. It counts only together with
  // the rings.
  const bool all = std::ranges::all_of(rings_, [](const auto& ring) { return ring->fill() == 0; }) &&
                   std::ranges::all_of(loggers_, [](const auto& logger) { return logger->ends_with_marker(); });
  if (all) return {};
  return {StatusCode::kUnavailable,
          fmt::format("something that is still open holds the epoch of the last transactions back, so the log cannot "
                      "have them; they stay in the log rings in '{}', and the next opening takes them from there",
                      options_.reliable_directory)};
}

Status Log::remove_rings() {
  const std::lock_guard lock(mutex_);
  for (const std::string& path : ring_paths_) {
    // The file may have been removed by hand while the database was open. The log does not need it any more.
    const Status removed = base::system_files().remove(path);
    if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
    base::sync_point("log.ring_removed");
  }
  return {};
}

/// Looks for a ring that is gone. Only ENOENT counts as that: other errors, such as too many links in the path, tell
/// nothing about the file.
std::string Log::missing_ring() const {
  std::vector<std::string> paths;
  {
    const std::lock_guard lock(mutex_);
    paths = ring_paths_;
  }
  const auto is_gone = [](const std::string& path) { return ::access(path.c_str(), F_OK) != 0 && errno == ENOENT; };
  const auto gone = std::ranges::find_if(paths, is_gone);
  return gone == paths.end() ? "" : *gone;
}

bool Log::owes() const {
  const std::lock_guard lock(mutex_);
  return owes_something();
}

bool Log::owes_something() const {
  return std::any_of(rings_.begin(), rings_.end(), [](const auto& ring) { return !ring->all_given_back(); });
}

Log::End Log::end() const {
  End end;
  end.complete = loggers_.front()->marked();
  for (const auto& logger : loggers_) {
    end.positions.push_back(logger->end());
    end.complete = std::min(end.complete, logger->marked());
  }
  return end;
}

/// Returns the least epoch of a decided transaction that still has locks to give back. It may miss a transaction that
/// is decided now. That does no harm: such a transaction has an epoch of at least E - 1, and no checkpoint covers that.
epoch::Epoch Log::owed_from() const {
  const std::lock_guard lock(mutex_);
  epoch::Epoch oldest = ~epoch::Epoch{0};
  for (const auto& ring : rings_) {
    if (const LockAheadArea* const locks = ring->lock_ahead(); locks != nullptr)
      oldest = std::min(oldest, locks->oldest_decided());
  }
  return oldest;
}

std::vector<std::uint64_t> Log::first_after(epoch::Epoch epoch) {
  if (!base::injected("remove-what-is-owed")) epoch = std::min(epoch, std::max(owed_from(), epoch::Epoch{1}) - 1);
  std::vector<std::uint64_t> first;
  for (const auto& logger : loggers_) first.push_back(logger->first_after(epoch));
  return first;
}

std::vector<std::string> Log::directories_without_spare() const {
  std::vector<std::string> directories;
  for (const auto& logger : loggers_) {
    if (!logger->has_spare()) directories.push_back(logger->directory());
  }
  return directories;
}

Status Log::remove_before(std::span<const std::uint64_t> first) {
  Status failure;  // the first one; the loop goes on, as other loggers may have other devices
  for (std::size_t i = 0; i < loggers_.size(); ++i) {
    const Status removed = loggers_[i]->remove_before(first[i]);
    if (failure.ok() && !removed.ok()) failure = removed;
  }
  return failure;
}

}  // namespace granary::log
