#include "bench/recovery/victim.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>

#include "bench/harness/fresh_database.h"
#include "bench/harness/progress.h"
#include "bench/harness/early_end.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::recovery {
namespace {

double seconds_since(std::uint64_t start_ns) { return static_cast<double>(base::monotonic_ns() - start_ns) / 1e9; }

/// One worker's stream of writes. It goes on where it stopped.
class Writer {
 public:
  Writer(Database& database, const Table& table, const Load& load, std::uint32_t worker)
      : database_(database),
        table_(table),
        load_(load),
        worker_(worker),
        keys_(load, worker) {}

  /// Writes up to the `end`th of its records, and waits until the last one is durable.
  Status write_until(std::uint64_t end, Progress& progress) {
    auto worker = database_.register_worker();
    if (!worker.ok()) return worker.status();
    std::vector<std::pair<std::string, std::string>> batch;
    RunResult done;
    while (operation_ < end) {
      batch.resize(std::min<std::uint64_t>(load_.writes, end - operation_));
      for (auto& [key, value] : batch) {
        const std::uint64_t number = keys_.next();
        key = key_of(number);
        make_value(load_, number, ++operation_, &value);
      }
      done = worker->run([&](Transaction& transaction) {
        for (const auto& [key, value] : batch) static_cast<void>(transaction.put(table_, key, value));
      });
      if (!done.committed()) return why(done.reason);
      progress.add(batch.size());
    }
    return wait_durable(done.ticket);
  }

 private:
  /// Waits until the transaction is on the device, as its result may be released earlier (Options::release).
  Status wait_durable(const Ticket& ticket) const {
    if (Status released = database_.wait_released(ticket); !released.ok()) return released;
    while (database_.statistics().durable_epoch < ticket.epoch) {
      if (Status log = database_.log_status(); !log.ok()) return log;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }

  Status why(AbortReason reason) const {
    if (const Status log = database_.log_status(); !log.ok()) return log;
    return {StatusCode::kResourceExhausted, fmt::format("worker {} could not write: {}", worker_, name(reason))};
  }

  Database& database_;
  const Table& table_;
  const Load& load_;
  const std::uint32_t worker_;
  KeyStream keys_;
  std::uint64_t operation_ = 0;
};

/// Lets all writers write until each has done this share of its records.
Status write_share(std::vector<std::unique_ptr<Writer>>& writers, const Load& load, double share, Progress& progress) {
  std::vector<Status> ends(writers.size());
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < writers.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::uint64_t all = load.records_of(i);
      const auto part = static_cast<std::uint64_t>(static_cast<double>(all) * share);
      ends[i] = writers[i]->write_until(share >= 1 ? all : part, progress);
    });
  }
  for (std::jthread& thread : threads) thread.join();
  for (const Status& end : ends) {
    if (!end.ok()) return end;
  }
  return {};
}

/// Waits for a snapshot that holds all that is written now, and takes a checkpoint of it.
Status checkpoint_all(Database& database, Written& written) {
  const std::uint64_t seen = database.current_epoch() + 2 * database.options().snapshot_epochs + 1;
  while (database.current_epoch() < seen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::uint64_t start = base::monotonic_ns();
  const double processor = processor_seconds();
  const Status done = database.checkpoint();
  written.checkpoint_core_seconds = processor_seconds() - processor;
  written.checkpoint_seconds = seconds_since(start);
  return done;
}

Status write_all(Database& database, const Load& load, CheckpointAt checkpoint, bool show, Written* written) {
  const auto table = database.create_table(kTableName, {.max_value_bytes = load.value_bytes});
  if (!table.ok()) return table.status();
  std::vector<std::unique_ptr<Writer>> writers;
  for (std::uint32_t i = 0; i < load.workers; ++i)
    writers.push_back(std::make_unique<Writer>(database, *table, load, i));
  LoadProgress progress("recovery, writing the log", load.records, show);
  const std::uint64_t start = base::monotonic_ns();
  std::uint64_t paused_ns = 0;
  if (checkpoint == CheckpointAt::kHalf) {
    if (const Status half = write_share(writers, load, 0.5, progress); !half.ok()) return half;
    const std::uint64_t pause = base::monotonic_ns();
    if (const Status done = checkpoint_all(database, *written); !done.ok()) return done;
    paused_ns = base::monotonic_ns() - pause;
  }
  if (const Status rest = write_share(writers, load, 1, progress); !rest.ok()) return rest;
  written->seconds = seconds_since(start + paused_ns);
  const Statistics statistics = database.statistics();
  written->log_bytes = statistics.log_bytes;
  written->transactions = statistics.commits;
  return checkpoint == CheckpointAt::kEnd ? checkpoint_all(database, *written) : Status();
}

/// Runs in the process that will be killed, and never returns.
[[noreturn]] void live(const Options& options, const Load& load, CheckpointAt checkpoint, bool show, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // so that it does not outlive the benchmark
  leave_signals_to_parent();
  Written written;
  auto database = open_fresh(options);
  const Status done = database.ok() ? write_all(**database, load, checkpoint, show, &written) : database.status();
  written.ok = done.ok();
  written.code = done.code();
  std::strncpy(written.message, done.message().c_str(), sizeof written.message - 1);
  if (::write(pipe, &written, sizeof written) != static_cast<ssize_t>(sizeof written)) ::_exit(1);
  for (;;) ::pause();
}

Result<Written> hear(int pipe) {
  Written written;
  std::size_t have = 0;
  while (have < sizeof written) {
    const ssize_t got = ::read(pipe, reinterpret_cast<char*>(&written) + have, sizeof written - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status(StatusCode::kUnavailable, "the process that writes the log ended by itself");
    have += static_cast<std::size_t>(got);
  }
  if (!written.ok) return Status(written.code, written.message);
  return written;
}

Status failed(const char* what) {
  return {StatusCode::kUnavailable, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

}  // namespace

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Result<Written> write_and_kill(const Options& options, const Load& load, CheckpointAt checkpoint, bool progress) {
  int ends[2];
  if (::pipe(ends) != 0) return failed("make a pipe");
  const pid_t child = ::fork();
  if (child < 0) return failed("start a process");
  if (child == 0) {
    ::close(ends[0]);
    live(options, load, checkpoint, progress, ends[1]);
  }
  ::close(ends[1]);
  auto written = hear(ends[0]);
  ::close(ends[0]);
  ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return written;
}

}  // namespace granary::bench::recovery
