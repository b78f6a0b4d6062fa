#include "src/node/leader_thread.h"

#include <chrono>

#include "src/base/test_hooks.h"
#include "src/base/threads.h"
#include "src/base/tsc_clock.h"
#include "src/cluster/record_access/regions.h"

namespace granary::db {
namespace {

/// Returns whether D and C may go on in this configuration. D stays while anything is owed: transactions that a dead
/// node has decided may be in its rings only, and others may have read them (I20). C says which logs nobody needs any
/// more, and a node that does not serve yet may still need them. Members that are not in the cluster file any more do
/// not count.
cluster::Going going_in(const membership::Configuration& configuration, const std::vector<membership::NodeId>& nodes) {
  cluster::Going going{.durable = configuration.owed.empty() || base::injected("durable-while-owed")};
  for (const membership::NodeId node : nodes) {
    const membership::Member* const member = configuration.find(node);
    if (member == nullptr) going.durable = false;
    if (member == nullptr || member->state != membership::MemberState::kServing) going.checkpoints = false;
  }
  return going;
}

}  // namespace

LeaderThread::LeaderThread(rdma::Fabric& fabric, std::vector<membership::NodeId> nodes, std::uint64_t period_us,
                           void* buffer)
    : fabric_(fabric),
      nodes_(std::move(nodes)),
      period_us_(period_us),
      buffer_(buffer),
      thread_([this] { run(); }) {}

LeaderThread::~LeaderThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

cluster::LeaderOptions leader_options(const membership::Configuration& configuration, membership::NodeId own,
                                      const std::vector<membership::NodeId>& nodes, std::uint64_t period_us) {
  cluster::LeaderOptions options{
      .configuration = configuration.number, .going = going_in(configuration, nodes), .period_us = period_us};
  const membership::Member* const leader = configuration.leader();
  const bool leads = leader != nullptr && leader->id == own;
  for (const membership::Member& member : configuration.members) {
    const bool reached =
        member.state == membership::MemberState::kReady || member.state == membership::MemberState::kServing;
    if (!leads || !reached) continue;
    options.members.push_back(
        {.node = member.id, .region = cluster::kControlRegion, .generation = member.generation, .offset = 0});
  }
  return options;
}

void LeaderThread::follow(const membership::Configuration& configuration) {
  const cluster::LeaderOptions options = leader_options(configuration, fabric_.node().node, nodes_, period_us_);
  {
    const std::lock_guard lock(mutex_);
    wanted_ = options;
  }
  changed_.notify_all();
}

Status LeaderThread::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::optional<membership::NodeId> LeaderThread::waits_for() const {
  const std::lock_guard lock(mutex_);
  return waits_for_;
}

std::optional<membership::NodeId> LeaderThread::least_logged() const {
  const std::lock_guard lock(mutex_);
  return least_logged_;
}

void LeaderThread::run() {
  base::name_thread("gr-leader");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const cluster::LeaderOptions options = wanted_;
    if (options.members.empty()) {
      changed_.wait(lock, [&] { return stopping_ || wanted_ != options; });
      continue;
    }
    lock.unlock();
    lead(options);
    lock.lock();
    if (superseded(options)) {
      status_ = {};
      waits_for_.reset();
      least_logged_.reset();
    }
  }
}

bool LeaderThread::superseded(const cluster::LeaderOptions& options) const { return stopping_ || wanted_ != options; }

void LeaderThread::lead(const cluster::LeaderOptions& options) {
  const auto endpoint = fabric_.open_endpoint();
  if (!endpoint.ok()) {
    constexpr std::chrono::seconds kBeforeAnotherTry(1);
    std::unique_lock lock(mutex_);
    status_ = endpoint.status();
    changed_.wait_for(lock, kBeforeAnotherTry, [&] { return superseded(options); });
    return;
  }
  rdma::fiber::Peers peers(**endpoint);
  rdma::fiber::FiberEndpoint shared(**endpoint);
  base::ThreadWaiter waiter;
  rdma::fiber::Scheduler scheduler([&shared] { shared.poll(); }, waiter);
  cluster::EpochLeader leader(options, {scheduler, shared, peers, waiter, buffer_});
  std::unique_lock lock(mutex_);
  while (!superseded(options)) {
    lock.unlock();
    const auto report = leader.step(base::monotonic_us());
    lock.lock();
    if (report) {
      status_ = report->status();
      const bool waits = report->turn == cluster::Turn::kWaiting || report->turn == cluster::Turn::kUnreachable;
      const auto node = static_cast<membership::NodeId>(report->node);
      waits_for_ = waits ? std::optional(node) : std::nullopt;
      if (report->turn == cluster::Turn::kAdvanced) least_logged_ = node;
    }
    // If a member acts in a later configuration, it has been told of that before this node, which rests until it is
    // told, too.
    const bool over = report && report->turn == cluster::Turn::kSuperseded;
    const auto rest =
        over ? std::uint64_t{1'000'000} : leader.next_us() - std::min(leader.next_us(), base::monotonic_us());
    changed_.wait_for(lock, std::chrono::microseconds(rest), [&] { return superseded(options); });
  }
}

}  // namespace granary::db
