// What befalls the nodes of an AppendWorld: connections between them are lost, and configurations follow each other,
// each with another leader, of which the nodes learn one after the other; and their clocks. Nobody dies: whoever
// commits has committed for good.

#include <algorithm>
#include <numeric>

#include "src/cluster/cluster_epoch/member.h"
#include "tests/cluster/transaction/append_world.h"
#include "tests/cluster/transaction/sim_leader.h"

namespace granary::cluster::test {

/// As wrong as their bound allows, and never for long by the same amount. Now and then a node does not know the time.
void AppendWorld::begin_clocks() {
  for (unsigned node = 0; node < options_.nodes; ++node) set_clock(node);
  cluster_.run_clocks({.error_us = options_.skew_us, .lease_us = options_.lease_us});
  cluster_.scheduler.spawn([this] {
    while (!over_) {
      pause(400);
      const auto node = static_cast<unsigned>(random_.below(options_.nodes));
      set_clock(node);
      cluster_.node(node).set_knows_time(running_ == 0 || !random_.chance(0.1));
    }
  });
}

void AppendWorld::set_clock(unsigned node) {
  constexpr std::int64_t kBegin = 1'000'000'000;
  const auto offset_us = static_cast<std::int64_t>(random_.chance(0.5) ? random_.below(2) * options_.skew_us
                                                                       : random_.between(0, options_.skew_us));
  cluster_.network.set_clock(static_cast<rdma::NodeId>(node), {.offset = kBegin + offset_us * 1000});
}

/// Clocks as nodes have them, kept right but for what is done to them. Each is looked at in time, mostly.
void AppendWorld::begin_real_clocks() {
  using cluster_config::clock::Clock, cluster_config::clock::ClockOptions, cluster_config::clock::SetClock;
  constexpr std::uint64_t kBegin_ns = 1'000'000'000'000'000;  // no clock is set back to before all time
  time_ns_ = kBegin_ns;
  for (unsigned node = 0; node < options_.nodes; ++node) {
    const auto kept_us = static_cast<std::int64_t>(random_.between(0, options_.skew_us));
    auto source = std::make_unique<SetClock>(time_ns_, kept_us, options_.skew_us);
    sources_.push_back(source.get());
    cluster_.node(node).set_lease_us(options_.lease_us);
    cluster_.node(node).use_clock(std::make_unique<Clock>(std::move(source), base::TscClock::simulated(time_ns_),
                                                          ClockOptions{.max_age_us = 500, .hold_us = 1'000}));
    cluster_.node(node).clock().step(time_ns_ / 1000);
  }
  cluster_.when_time_passes([this] { time_ns_ = kBegin_ns + cluster_.network.now(); });
  cluster_.scheduler.spawn([this] {
    while (!over_) {
      pause(6);
      for (unsigned node = 0; node < options_.nodes; ++node) keep_clock(node);
      if (!random_.chance(0.0002)) continue;
      const std::int64_t by_us = some_jump_us();
      for (SetClock* const source : sources_) source->set_cluster(by_us);
    }
  });
}

void AppendWorld::keep_clock(unsigned node) {
  cluster_config::clock::SetClock& source = *sources_[node];
  if (random_.chance(0.002)) source.set(some_jump_us());
  if (random_.chance(0.004)) source.set_right();
  if (random_.chance(0.05)) source.look();
  if (random_.chance(0.7)) cluster_.node(node).clock().step(time_ns_ / 1000);
}

std::int64_t AppendWorld::some_jump_us() {
  constexpr std::int64_t kHour_us = 3'600'000'000;
  const auto lease_us = static_cast<std::int64_t>(options_.lease_us);
  const std::int64_t by[] = {lease_us / 2, 2 * lease_us, kHour_us};
  return random_.chance(0.5) ? by[random_.below(3)] : -by[random_.below(3)];
}

std::uint64_t AppendWorld::clock_jumps() {
  std::uint64_t sum = 0;
  for (unsigned node = 0; node < options_.nodes; ++node) sum += cluster_.node(node).clock().report().jumps;
  return sum;
}

/// `of` tells one of the counters of a worker.
std::uint64_t AppendWorld::sum(FunctionRef<std::uint64_t(const ReachCounters&)> of) {
  std::uint64_t sum = 0;
  for (unsigned node = 0; node < options_.nodes; ++node) {
    for (unsigned worker = 0; worker < options_.workers; ++worker)
      sum += of(cluster_.node(node).remote(worker).counters());
  }
  return sum;
}

std::uint64_t AppendWorld::leases() {
  return sum([](const ReachCounters& counters) { return counters.leases.load(); });
}
std::uint64_t AppendWorld::stale_leaves() {
  return sum([](const ReachCounters& counters) { return counters.leaves.stale.load(); });
}

void AppendWorld::begin_trouble() {
  for (unsigned node = 0; node < options_.nodes; ++node) {
    membership::Fence& fence = fences_.emplace_back();
    fence.extend(membership::kForever);
    cluster_.node(node).database().engine().set_fence(fence);
    cluster_.node(node).control().by_node.serving.store(1);
  }
  cluster_.scheduler.spawn([this] { trouble(); });
  cluster_.scheduler.spawn([this] { publish(); });
}

/// In the end there is peace, so that all can be read.
void AppendWorld::trouble() {
  change_configuration();
  while (running_ > 0) {
    pause(300);
    const auto one = static_cast<rdma::NodeId>(random_.below(options_.nodes));
    const auto other = static_cast<rdma::NodeId>(random_.below(options_.nodes));
    if (one != other) {
      cluster_.network.lose_connections(one, other);
    } else {
      change_configuration();
    }
  }
}

/// The leader of before is not told: it has to find out.
void AppendWorld::change_configuration() {
  const epoch::Configuration version = ++configuration_;
  const std::uint64_t leader = random_.below(options_.nodes);
  std::vector<unsigned> order(options_.nodes);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
  for (const unsigned node : order) {
    fences_[node].move(version);
    act_in(version, cluster_.node(node).control());
    if (node == leader) cluster_.scheduler.spawn([this, node, version] { lead_as(node, version); });
    pause(30);
  }
}

void AppendWorld::lead_as(unsigned node, epoch::Configuration configuration) {
  LeaderOptions options{.configuration = configuration, .period_us = 100};
  for (unsigned id = 0; id < options_.nodes; ++id) {
    options.members.push_back(
        {.node = static_cast<rdma::NodeId>(id), .region = kControlRegion, .generation = 1, .offset = 0});
  }
  bool superseded = false;
  lead_epochs(cluster_, node, options, [&](const std::optional<TurnReport>& report) {
    superseded |= report && report->turn == Turn::kSuperseded;
    return !superseded && !over_;
  });
}

/// The nodes tell how far they are.
void AppendWorld::publish() {
  while (!over_) {
    pause(20);
    for (unsigned node = 0; node < options_.nodes; ++node) step(node);
  }
}

}  // namespace granary::cluster::test
