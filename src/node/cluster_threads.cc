#include "src/node/cluster_threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/cluster/transaction/reach_counters.h"

namespace granary::db {
namespace {

void add(ClusterStatistics& sum, const cluster::ReachCounters& counters) {
  const auto rounds = [&counters](cluster::TripPhase phase) {
    return counters.rounds[static_cast<std::size_t>(phase)].load();
  };
  sum.transactions += counters.transactions;
  sum.execute_rounds += rounds(cluster::TripPhase::kExecute);
  sum.lock_rounds += rounds(cluster::TripPhase::kLock);
  sum.agree_rounds += rounds(cluster::TripPhase::kAgree);
  sum.validate_rounds += rounds(cluster::TripPhase::kValidate);
  sum.write_back_rounds += rounds(cluster::TripPhase::kWriteBack);
  for (const auto& phase : counters.rounds) sum.rounds += phase.load(std::memory_order_relaxed);
  sum.reads += counters.reads;
  sum.writes += counters.writes;
  sum.compare_swaps += counters.compare_swaps;
  sum.leases += counters.leases;
  sum.messages += counters.messages;
  sum.epoch_waits += counters.epoch_waits;
  sum.location_hits += counters.locations.hits;
  sum.location_misses += counters.locations.misses;
  sum.location_stale += counters.locations.stale;
  sum.leaf_reads += counters.leaves.reads;
  sum.leaf_hits += counters.leaves.hits;
  sum.leaf_misses += counters.leaves.misses;
  sum.leaf_stale += counters.leaves.stale;
  sum.unfinished += counters.unfinished;
}

const ClusterThread* address_of(const std::unique_ptr<ClusterThread>& thread) { return thread.get(); }

}  // namespace

ClusterThreads::ClusterThreads(NodeNumber node, std::uint32_t most, std::string file)
    : node_(node),
      most_(most),
      file_(std::move(file)) {
  for (std::uint32_t i = most; i > 0; --i) free_numbers_.push_back(i - 1);
  left_threads_.reserve(most);  // end() is called by a destructor, so adding a worker there may not throw
}

ClusterThreads::~ClusterThreads() {
  base::always_check(left_threads_.empty(), "ended workers are dropped before the parts of the node that they use");
}

Status ClusterThreads::check_none_registered() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> held;
  for (const ClusterThread* thread : threads_) {
    const bool has_ended = std::ranges::find(left_threads_, thread, &address_of) != left_threads_.end();
    if (thread->number() < most_ && !has_ended) held.push_back(thread->number());
  }
  if (held.empty()) return {};
  return {StatusCode::kFailedPrecondition, fmt::format("{} {} of node {} {} still registered; a cluster's workers have "
                                                       "to be destroyed before it is left or destroyed",
                                                       held.size() == 1 ? "worker" : "workers", fmt::join(held, ", "),
                                                       node_, held.size() == 1 ? "is" : "are")};
}

Result<std::unique_ptr<ClusterThread>> ClusterThreads::open(WorkerNumber number, cluster::NodeParts& parts) {
  auto thread = ClusterThread::open(*database_, parts, std::move(number));
  if (!thread.ok()) return thread.status();
  const std::lock_guard lock(mutex_);
  threads_.push_back(thread->get());
  (*thread)->on_end([this](ClusterThread& ending) { count_in(ending); });
  return thread;
}

Result<std::unique_ptr<ClusterThread>> ClusterThreads::register_worker() {
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (left_)
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("node {} has left its cluster, and registers no workers any more", node_));
    if (!admits_)
      return Status(StatusCode::kFailedPrecondition, "workers of a cluster are registered after it has started");
    if (free_numbers_.empty()) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("node {} has {} workers by {}, and all are registered, or have left records locked at "
                                "nodes that could not be reached",
                                node_, most_, file_));
    }
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  return open(WorkerNumber(number, [this](std::uint32_t free) {
    const std::lock_guard lock(mutex_);
    free_numbers_.push_back(free);
  }));
}

void ClusterThreads::end(std::unique_ptr<ClusterThread> thread) {
  thread->finish();
  if (!thread->has_left_locks()) return;
  const std::lock_guard lock(mutex_);
  left_threads_.push_back(std::move(thread));
}

std::vector<ClusterThread*> ClusterThreads::left_threads() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClusterThread*> left;
  for (const auto& thread : left_threads_) left.push_back(thread.get());
  return left;
}

void ClusterThreads::give_back_left() {
  cluster::Undelivered::Silent silent;
  for (ClusterThread* const thread : left_threads()) {
    if (has_left()) return;
    thread->give_back(silent);
    drop_if_free(*thread);
  }
}

void ClusterThreads::give_back_at_last() {
  cluster::Undelivered::Silent silent;
  for (ClusterThread* const thread : left_threads()) {
    thread->give_back_now(silent);
    drop_if_free(*thread);
  }
}

void ClusterThreads::drop_if_free(ClusterThread& thread) {
  if (thread.has_left_locks()) return;
  std::unique_ptr<ClusterThread> done;  // destroyed without the mutex, which count_in() takes
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(left_threads_, &thread, &address_of);
  done = std::move(*found);
  left_threads_.erase(found);
}

void ClusterThreads::drop_left() {
  std::vector<std::unique_ptr<ClusterThread>> left;  // destroyed without the mutex, which count_in() takes
  const std::lock_guard lock(mutex_);
  left.swap(left_threads_);
}

void ClusterThreads::count_in(ClusterThread& thread) {
  const std::lock_guard lock(mutex_);
  add(ended_, thread.counters());
  left_locks_ |= thread.has_left_locks();
  std::erase(threads_, &thread);
}

ClusterStatistics ClusterThreads::statistics() const {
  const std::lock_guard lock(mutex_);
  ClusterStatistics sum = ended_;
  for (const ClusterThread* thread : threads_) add(sum, thread->counters());
  return sum;
}

}  // namespace granary::db
