#include "tests/cluster/cluster_epoch/epoch_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/cluster/cluster_epoch/member.h"

namespace granary::cluster {
namespace {

using epoch::ControlBlock;
using epoch::Epoch;
using epoch::EpochManager;
using rdma::NodeId;

constexpr rdma::RegionId kControl = 2;
constexpr rdma::RegionId kBuffers = 4;
constexpr Epoch kPeriod = 3;  // of snapshots

std::unique_ptr<memory::Region> map() {
  return memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value();
}

}  // namespace

/// One life of a node.
struct EpochWorld::Node {
  Node(rdma::sim::SimNetwork& network, NodeId its_id, rdma::Generation generation, Epoch first_epoch)
      : id(its_id),
        fabric(network.open_fabric({.node = id, .generation = generation}).value()),
        epochs({.snapshot_epochs = kPeriod,
                .max_open_epochs = 0,
                .first_epoch = first_epoch,
                .control = reinterpret_cast<ControlBlock*>(control_region->base())}),
        address{.node = id, .region = kControl, .generation = generation, .offset = 0} {
    (void)fabric->register_region({.id = kControl}, *control_region);
    (void)fabric->register_region({.id = kBuffers, .access = rdma::Access::kLocal}, *buffers);
    (void)fabric->listen();
  }
  ControlBlock& control() { return epochs.control(); }
  Epoch e() const { return epochs.current(); }
  bool serves() const { return served && !dead; }

  const NodeId id;
  const std::unique_ptr<memory::Region> control_region = map();
  const std::unique_ptr<memory::Region> buffers = map();
  const std::unique_ptr<rdma::Fabric> fabric;
  EpochManager epochs;
  const rdma::RemoteAddress address;
  bool dead = false;
  bool served = false;
  std::vector<epoch::Slot*> slots{};
  Epoch logged = 0;  ///< what the log has made durable
  std::size_t buffer_used = 0;
};

EpochWorld::EpochWorld(const WorldOptions& options)
    : options_(options),
      network_(options.network),
      random_(options.network.seed + 1) {
  std::vector<Node*> first;
  for (unsigned i = 0; i < options.nodes; ++i) first.push_back(&start(static_cast<NodeId>(i + 1), 1));
  for (const Node* node : first) begin_ = std::max(begin_, node->e());
  greatest_ = begin_;
  configure(first);
}

EpochWorld::~EpochWorld() = default;

EpochWorld::Node& EpochWorld::start(NodeId id, rdma::Generation generation) {
  // Some come with an E far ahead of the others'.
  const Epoch first_epoch = 10 + random_.below(random_.chance(0.3) ? 12 : 3);
  lives_.push_back(std::make_unique<Node>(network_, id, generation, first_epoch));
  Node& node = *lives_.back();
  for (int i = 0; i < 2; ++i) {
    node.slots.push_back(node.epochs.acquire_slot());
    scheduler_.spawn([this, &node, slot = node.slots.back()] { transact(node, *slot); });
  }
  scheduler_.spawn([this, &node] { publish(node); });
  scheduler_.spawn([this, &node] { follow(node); });
  return node;
}

std::vector<EpochWorld::Node*> EpochWorld::members() const {
  std::vector<Node*> found;
  for (const auto& node : lives_) {
    const auto& addresses = configuration_.members;
    if (!node->dead && std::find(addresses.begin(), addresses.end(), node->address) != addresses.end())
      found.push_back(node.get());
  }
  return found;
}

void EpochWorld::configure(std::vector<Node*> members) {
  std::sort(members.begin(), members.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
  Configuration next{.version = configuration_.version + 1, .durable_goes_on = durable_goes_on_};
  for (const Node* node : members) next.members.push_back(node->address);
  configuration_ = next;
}

bool EpochWorld::pause(const Node& node, unsigned most) {
  for (std::uint64_t turns = 1 + random_.below(most); turns > 0; --turns) {
    scheduler_.yield();
    if (over_ || node.dead) return false;
  }
  return true;
}

/// Transactions and snapshots, now and then long ones.
void EpochWorld::transact(Node& node, epoch::Slot& slot) {
  while (pause(node, 5)) {
    if (!node.serves()) continue;
    const Epoch mine = node.epochs.enter(slot);
    const bool snapshot = random_.chance(0.3);
    if (snapshot) {
      node.epochs.pin_snapshot(slot);
      node.epochs.leave(slot);
    }
    const bool lives = pause(node, random_.chance(0.1) ? 60 : 8);
    if (!lives) return;
    if (!snapshot && node.e() > mine + 1)
      wrong(fmt::format("E is {} with an e_w of {} on node {}", node.e(), mine, node.id));
    if (snapshot) {
      node.epochs.unpin_snapshot(slot);
    } else {
      node.epochs.leave(slot);
    }
  }
}

void EpochWorld::publish(Node& node) {
  node.logged = node.e() - 1;
  while (pause(node, 6)) {
    const Epoch complete = node.epochs.complete();
    if (random_.chance(0.7) && complete > node.logged) node.logged += 1 + random_.below(complete - node.logged);
    node.epochs.publish(node.logged);
    if (random_.chance(0.3)) node.epochs.tick(node.logged);
  }
}

/// Learns of configurations, late, and acts in them.
void EpochWorld::follow(Node& node) {
  while (pause(node, 30)) {
    const Configuration seen = configuration_;
    const bool member = std::find(seen.members.begin(), seen.members.end(), node.address) != seen.members.end();
    if (!member) continue;  // taken for dead, and does not know it
    if (seen.version != node.control().by_node.configuration.load()) {
      act_in(seen.version, node.control());
      // The leader of before, if this node was it, is not told: it has to find out.
      if (seen.members.front() == node.address) scheduler_.spawn([this, &node, seen] { lead(node, seen); });
    }
    // What came before is not of this node: it has nothing left to log of it.
    if (node.served || !may_serve(node.control())) continue;
    node.served = true;
    node.logged = std::max(node.logged, node.e() - 1);
  }
}

void EpochWorld::lead(Node& node, const Configuration& configuration) {
  std::unique_ptr<rdma::Endpoint> endpoint = node.fabric->open_endpoint().value();
  rdma::fiber::Peers peers(*endpoint);
  rdma::fiber::FiberEndpoint shared(*endpoint);
  rdma::fiber::Scheduler own(
      [&] {
        shared.poll();
        scheduler_.yield();
      },
      *this);
  void* const buffer = node.buffers->base() + std::exchange(node.buffer_used, node.buffer_used + 4096);
  // A scheduler of its own, as in a real node; its waits let the world go on.
  own.spawn([&] {
    rdma::fiber::FiberWaiter waiter(own);
    EpochLeader leader({.configuration = configuration.version,
                        .members = configuration.members,
                        .going = {.durable = configuration.durable_goes_on},
                        .period_us = 20},
                       {own, shared, peers, waiter, buffer});
    while (!over_ && !node.dead) {
      const auto report = leader.step(turns_);
      if (report && report->turn == Turn::kSuperseded) return;
      own.yield();
    }
  });
  own.run();
}

void EpochWorld::crash(Node& node) {
  if (node.serves()) durable_goes_on_ = false;
  node.dead = true;
  network_.crash(node.id);
}

void EpochWorld::join() {
  // A node that crashed, if there is one whose place is free, or a new one.
  NodeId id = static_cast<NodeId>(10 + random_.below(80));
  if (random_.chance(0.5)) id = static_cast<NodeId>(0);
  rdma::Generation generation = 1;
  for (const auto& node : lives_) {
    if (id == 0 && node->dead) id = node->id;
    if (node->id == id) {
      if (!node->dead) return;
      generation = node->address.generation + 1;
    }
  }
  if (id == 0) return;
  std::vector<Node*> next = members();
  next.push_back(&start(id, generation));
  configure(next);
}

void EpochWorld::trouble() {
  unsigned crashes = options_.crashes, joins = options_.joins, lost = options_.lost_connections,
           suspicions = options_.suspicions;
  const unsigned all = crashes + joins + lost + suspicions;
  const std::uint64_t between = options_.events / (all + 1);
  for (unsigned done = 0; done < all && !over_; ++done) {
    for (std::uint64_t turns = random_.below(2 * between); turns > 0 && !over_; --turns) scheduler_.yield();
    std::vector<Node*> now = members();
    const std::size_t victim = random_.chance(0.5) ? 0 : random_.below(now.size());  // often the leader
    const std::uint64_t which = random_.below(all);
    if (which < crashes && now.size() > 2) {
      crash(*now[victim]);
      now.erase(now.begin() + static_cast<std::ptrdiff_t>(victim));
      for (std::uint64_t turns = random_.below(60); turns > 0; --turns) scheduler_.yield();  // until it is noticed
      configure(now);
    } else if (which < crashes + suspicions && now.size() > 2) {
      if (now[victim]->serves()) durable_goes_on_ = false;
      now.erase(now.begin() + static_cast<std::ptrdiff_t>(victim));
      configure(now);
    } else if (which < crashes + suspicions + joins) {
      join();
    } else if (now.size() > 1) {
      network_.lose_connections(now.front()->id, now[random_.below(now.size())]->id);
    }
  }
}

void EpochWorld::check_node(const Node& node, Epoch least_open) {
  const ControlBlock::ByLeader& words = node.epochs.control().by_leader;
  if (node.e() > least_open + 1)
    wrong(fmt::format("I7: E is {} on node {} with a transaction open in {}", node.e(), node.id, least_open));
  for (const Node* other : members()) {
    if (other->serves() && other->e() > node.e() + 1)
      wrong(fmt::format("I7: E is {} on node {} and {} on node {}", other->e(), other->id, node.e(), node.id));
    for (const epoch::Slot* slot : other->slots) {
      const Epoch snapshot = slot->snapshot.load();
      if (words.snapshot_reclamation.load() >= snapshot && snapshot != 0)
        wrong(fmt::format("versions of epoch {} are freed under a snapshot of {}", snapshot, snapshot));
    }
  }
  for (const auto& other : lives_) {  // the dead ones' logs count as well
    if (other->served && words.durable.load() > other->logged)
      wrong(fmt::format("D is {}, and node {} has only {}", words.durable.load(), other->id, other->logged));
  }
}

void EpochWorld::check() {
  Epoch least_open = ~Epoch{0} - 1;
  const std::vector<Node*> now = members();
  for (const Node* node : now) {
    for (const epoch::Slot* slot : node->slots) least_open = std::min(least_open, slot->local.load());
  }
  for (const Node* node : now) {
    if (!node->serves()) continue;
    check_node(*node, least_open);
    greatest_ = std::max(greatest_, node->e());
    greatest_durable_ = std::max(greatest_durable_, node->epochs.control().by_leader.durable.load());
  }
}

void EpochWorld::poll() {
  network_.step();
  ++turns_;
  check();
  if (!wrong_.empty()) over_ = true;
}

std::string EpochWorld::run() {
  scheduler_.spawn([this] {
    trouble();
    const auto wait_turns = [&](std::uint64_t turns) {
      while (turns-- > 0 && !over_) scheduler_.yield();
    };
    wait_turns(options_.events / 2);
    // In peace, all members serve, and E goes on.
    const Epoch before = greatest_;
    for (std::uint64_t turns = 0; turns < 20'000 && greatest_ < before + 3 && !over_; ++turns) scheduler_.yield();
    if (!over_ && greatest_ < before + 3) wrong(fmt::format("E stays {}", greatest_));
    for (const Node* node : members()) {
      if (!over_ && !node->serves()) wrong(fmt::format("node {} was not admitted", node->id));
    }
    over_ = true;
  });
  scheduler_.run();
  return wrong_;
}

}  // namespace granary::cluster
