#pragma once
// The interface between the runner and a workload. A workload knows its data and its requests; the runner owns threads,
// time, statistics and output, and is the same for all.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/function_ref.h>
#include <granary/granary.h>

#include "bench/harness/cluster_figures.h"
#include "bench/harness/key_ranges.h"
#include "bench/harness/time_line.h"

namespace granary::bench {

/// How one request ended.
enum class Ending : std::uint8_t {
  kCommitted,
  kRolledBack,  ///< the application rolled it back, as specified (1 % of TPC-C new-orders): throughput, not goodput
  kGaveUp,      ///< it could not be run to its end; counts as neither
  kTooLong,     ///< given up because its attempts were open for too long, one after another (OpenTooLong)
};
inline constexpr std::size_t kEndings = 4;
constexpr bool is_given_up(Ending ending) { return ending == Ending::kGaveUp || ending == Ending::kTooLong; }

/// The remedy when memory runs out, for messages.
inline constexpr const char* kMoreMemory = "more memory (--memory_limit; in a cluster, 'memory' of its file)";

/// Attempts that failed before a request's end, by reason. One per transaction type and client.
using AbortCounts = std::array<std::uint64_t, kAbortReasons>;

/// One request's outcome. `type` indexes Workload::transaction_types().
struct Request {
  std::uint8_t type = 0;
  Ending ending = Ending::kCommitted;
  /// If a request is several transactions, one after the other: how many came to their end before the last one, whose
  /// ending is the request's.
  std::uint32_t transactions_before = 0;

  /// Returns how many transactions of this request came to their end.
  std::uint64_t transactions() const { return std::uint64_t{transactions_before} + (is_given_up(ending) ? 0 : 1); }
};

/// One worker's side of a workload: runs one request after another. Made and used by one thread.
class Client {
 public:
  virtual ~Client() = default;
  /// Runs one request to its end, and retries it after conflicts; adds each failed attempt to aborts(type).
  virtual Request run_one() = 0;
  /// Called between the warm-up and the measurement, in the client's own thread.
  virtual void begin_measurement() {}
  /// Called now and then while the thread has nothing to do (e.g. at the end), to collect garbage.
  virtual void idle() {}
  /// Calls body(0) … body(count − 1) for the clients of Workload::make_clients(), of which this is the first, so that
  /// some go on while others wait.
  virtual void run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
    for (std::uint32_t i = 0; i < count; ++i) body(i);
  }

  AbortCounts& aborts(std::uint8_t type) { return aborts_[type]; }

  /// Makes the client note from now on which other nodes its requests need, and keep its account, if its workload has
  /// one.
  void track(WorkerAccount& account) { account_ = &account; }
  /// Returns the nodes other than its own that the last request needed, a bit for each.
  std::uint64_t reached() const { return reached_; }

 protected:
  WorkerAccount* account_ = nullptr;  ///< nullptr if nothing is tracked
  std::uint64_t reached_ = 0;

 private:
  std::array<AbortCounts, 16> aborts_{};  // at most 16 transaction types
};

/// Takes the progress of loaders, and prints one line a second. Thread-safe.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void add(std::uint64_t done) = 0;
};

/// Figures of the store for the progress line and the JSON.
struct StoreFigures {
  std::uint64_t memory_bytes = 0;  ///< all memory: slabs and the memory beside them
  std::uint64_t records_bytes = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t version_bytes = 0;
  std::uint64_t garbage_items = 0;
  std::uint64_t epoch = 0;
  std::uint64_t durable_epoch = 0;  ///< 0 without a log, as are the following
  std::uint64_t log_bytes = 0;
  std::uint64_t log_entries = 0;
  std::uint64_t log_syncs = 0;
  std::uint64_t ring_waits = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t checkpoint_bytes = 0;
  double checkpoint_seconds = 0;  ///< how long one was in progress
  std::string page_kind;
  std::string protocol = {};  ///< the database's own name for it; empty if the store is no Granary database
  HtmStatistics htm = {};
};

/// One second of a run, for workloads that judge a course of time (soak).
struct Sample {
  double seconds = 0;              ///< when it ended, since the measurement began; negative during warm-up
  std::uint64_t requests = 0;      ///< requests that ended in this second
  std::uint64_t transactions = 0;  ///< their transactions that came to their end, one or several of each request
  std::uint64_t aborts = 0;
  std::uint64_t resident_bytes = 0;  ///< memory of the process
  StoreFigures store;
};

/// A figure of a workload's own for table and JSON, e.g. {"bytes_per_record", 164.2}.
struct ExtraFigure {
  std::string name;
  double value = 0;
  /// If it is a mean: the number of values. The figures of nodes are merged by it, and otherwise by the nodes'
  /// requests.
  std::optional<double> of = {};
};

/// Two sums (modulo 2^64) that must be alike. Where data lies on several nodes, each node has its part of both, and
/// only the sums over all nodes must agree.
struct Tally {
  std::uint64_t expected = 0;  ///< according to the clients
  std::uint64_t found = 0;     ///< according to the data
};

/// One named condition of a consistency check.
struct Finding {
  std::string condition;            ///< e.g. "TPC-C 3.3.2.1"
  bool holds = false;               ///< as far as this process can tell
  std::string detail;               ///< what was counted; where it first failed
  std::optional<Tally> tally = {};  ///< if the condition is about sums
};

/// Returns the finding that the sums agree. A node of several cannot tell by itself; the process that has all nodes'
/// findings adds them up.
inline Finding sums_agree(std::string condition, const Tally& tally, const NodeShare& share) {
  const std::string sums = "expected " + std::to_string(static_cast<std::int64_t>(tally.expected)) + ", found " +
                           std::to_string(static_cast<std::int64_t>(tally.found));
  if (!share.alone()) return {std::move(condition), true, sums + " on this node; judged with the others", tally};
  return {std::move(condition), tally.expected == tally.found, sums, tally};
}

class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string name() const = 0;                            ///< "tpcc"
  virtual std::vector<std::string> transaction_types() const = 0;  ///< "new_order", ...
  virtual double scale_factor() const = 0;                         ///< warehouses, millions of keys, ...
  /// Returns how many bytes the loaded data will take, so that data that do not fit are refused.
  virtual std::uint64_t estimated_bytes() const = 0;
  /// Returns how many units load() will report to its Progress.
  virtual std::uint64_t load_units() const = 0;
  /// Opens the store and fills it, with up to `threads` threads.
  virtual Status load(unsigned threads, Progress& progress) = 0;
  /// Opens the store, which recovers its data, and returns when the node serves again. Called instead of load() in a
  /// process that takes the place of a node that was killed.
  virtual Status come_back() {
    return {StatusCode::kInvalidArgument, name() + " cannot go on with the data of a node that was killed"};
  }
  /// Gives the account in which the workload and its clients note what the check needs to know of this process, in case
  /// that it is killed. Called before load() or come_back(). A workload whose check looks at the data alone keeps no
  /// account.
  virtual void keep_account(LifeAccount&) {}
  /// Makes a client. Called in the worker's own (pinned) thread before its first request.
  virtual Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) = 0;
  /// Makes `count` clients that share a thread (--fibers).
  virtual Result<std::vector<std::unique_ptr<Client>>> make_clients(std::uint32_t worker, std::uint32_t count) {
    if (count != 1) return Status(StatusCode::kInvalidArgument, name() + " has one client of each worker only");
    Result<std::unique_ptr<Client>> client = make_client(worker);
    if (!client.ok()) return client.status();
    std::vector<std::unique_ptr<Client>> alone;
    alone.push_back(std::move(*client));
    return alone;
  }
  virtual StoreFigures figures() const = 0;
  /// Returns the database that requests run on, if it has a log, so that its released epoch is watched.
  virtual const Database* logged_database() const { return nullptr; }
  /// Whether a repeat needs freshly loaded data because a run changes its shape; otherwise repeats share one load.
  virtual bool reload_each_repeat() const { return false; }
  /// Called by the runner's own thread once a second, warm-up included.
  virtual void observe(const Sample&) {}
  /// Returns the workload's own figures. Called after each repeat.
  virtual std::vector<ExtraFigure> extra_figures() const { return {}; }
  /// Returns what transactions did at other nodes so far, if this process is a node of a cluster.
  virtual std::optional<ClusterFigures> cluster_figures() const { return std::nullopt; }
  /// Waits, if this process is a node of a cluster, until all nodes have called this as often, by the cluster's own
  /// means.
  virtual Status meet() { return {}; }
  /// Returns an error if this process was a node of a cluster and is no member any more.
  virtual Status node_status() const { return {}; }
  /// Checks the data after the clients are gone. Returns nothing if the workload has nothing to check.
  virtual std::vector<Finding> verify() { return {}; }
};

/// Returns why requests cannot come to their end any more: the database cannot make anything durable though it has a
/// log, or its node is no member of the cluster.
inline Status status_of(const Workload& workload) {
  const Database* const database = workload.logged_database();
  const Status log = database == nullptr ? Status() : database->log_status();
  return log.ok() ? workload.node_status() : log;
}

}  // namespace granary::bench
