#include "tests/cluster/recovery/crash_world.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "cluster_config/membership/life.h"
#include "src/base/test_hooks.h"
#include "src/cluster/cluster_epoch/member.h"
#include "src/node/leader_thread.h"
#include "tests/cluster/recovery/host_files.h"
#include "tests/cluster/transaction/sim_leader.h"

namespace granary::cluster::test {

using membership::Configuration;
using membership::Member;
using membership::Membership;
using membership::MemberState;
using membership::NodeId;

namespace {

constexpr unsigned kMostTurns = 150'000;   ///< until something must have happened
constexpr std::uint64_t kPeriod_us = 100;  ///< of epochs

}  // namespace

std::vector<membership::NodeId> CrashWorld::ids() const {
  std::vector<NodeId> all;
  for (unsigned id = 0; id < options_.nodes; ++id) all.push_back(static_cast<NodeId>(id));
  return all;
}

CrashWorld::CrashWorld(const CrashOptions& options)
    : options_(options),
      random_(options.seed, 1),
      host_(options.nodes),
      parts_(options.nodes),
      up_to_(options.nodes),
      cluster_(
          options.nodes, options.clients + 1, {.seed = options.seed, .most_notice = 1'000'000},
          [this](unsigned node) { return engine_options(node); }, messages::MailboxLayout{}.most_bytes,
          [this](unsigned node) {
            if (host_.disk(node) == nullptr) {
              host_.disk(node) = std::make_unique<tests::FaultFiles>();
              host_.disk(node)->pass_through(rings_.path());
              parts_[node] = {.node = node, .life = 1};
            }
            return SimStorage{.files = *host_.disk(node), .part = parts_[node]};
          }),
      tables_(options.nodes),
      lives_(options.nodes),
      appends_(std::size_t{options.nodes} * options.lists) {
  base::set_sync_hook([this](std::string_view point) { pass_point(point); });
}

CrashWorld::~CrashWorld() { base::set_sync_hook({}); }

Options CrashWorld::engine_options(unsigned node) const {
  Options options = tests::manual_options();
  options.snapshot_epochs = 2;
  options.protocol = options_.protocol;
  options.directory = HostFiles::path(node);
  options.reliable_directory = rings_.path() + "/" + std::to_string(node);
  options.ring_bytes = std::uint64_t{64} << 10;
  options.notices = [](const Notice&) {
  };  // a life that is over finds the rings of the next one, or none, when its object ends
  options.memory_limit_bytes = std::uint64_t{16} << 20;
  return options;
}

std::string CrashWorld::run() {
  for (unsigned id = 0; id < options_.nodes; ++id) join(id);
  for (const LifePtr& life : lives_) {
    open(life);
    begin_to_serve(life);
  }
  cluster_.scheduler.spawn([this] {
    fate();
    over_ = true;
    expect_ends();
  });
  cluster_.scheduler.run();
  return wrong_.empty() ? wrong_epochs(seen_) : wrong_;
}

void CrashWorld::spawn(const LifePtr& life, std::function<void()> body) {
  ++life->fibers;
  ++fibers_;
  cluster_.scheduler.spawn([this, life, body = std::move(body)] {
    rdma::fiber::Fiber* const fiber = cluster_.scheduler.current();
    life_of_fiber_[fiber] = life;
    try {
      body();
    } catch (const Killed&) {
      ++counts_.cut_short;
    }
    life_of_fiber_.erase(fiber);
    --life->fibers;
    --fibers_;
  });
}

void CrashWorld::pause(unsigned most) {
  for (std::uint64_t turns = random_.below(most); turns > 0; --turns) cluster_.scheduler.yield();
}

bool CrashWorld::await(const char* what, const std::function<bool()>& holds) {
  for (unsigned turns = 0; !holds(); ++turns) {
    if (turns == kMostTurns) note_wrong(std::string("the world stands still: ") + what);
    if (over_) return false;
    cluster_.scheduler.yield();
  }
  return true;
}

/// A fiber that waits for ever, in a transaction or a recovery, would make the program hang: it ends here, and tells of
/// which seed.
void CrashWorld::expect_ends() {
  for (unsigned turns = 0; fibers_ > 0 && turns < kMostTurns; ++turns) cluster_.scheduler.yield();
  if (fibers_ == 0) return;
  std::cerr << "seed " << options_.seed << ": " << fibers_ << " fibers do not end. " << wrong_ << std::endl;
  std::abort();
}

void CrashWorld::note_wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
  over_ = true;
}

/// A recovery takes its time, and so does a transaction, now and then; the process may die meanwhile.
void CrashWorld::pass_point(std::string_view point) {
  const auto found = life_of_fiber_.find(cluster_.scheduler.current());
  if (found == life_of_fiber_.end()) return;
  const LifePtr life = found->second;
  const bool linked = point == "version_copy.linked";
  if (linked) ++counts_.kept;
  if (point == deadly_point_ && may_die(life->node) && random_.chance(0.5)) {
    if (linked || point == "old_versions.borrowed") ++counts_.died_keeping;
    deadly_point_.clear();
    die_soon(life);
    if (random_.chance(0.5)) pause_until_dead(*life);
  }
  if (point.starts_with("across.") && random_.chance(0.1)) pause(random_.chance(0.1) ? 3'000 : 60);
  if (!point.starts_with("recovery.")) return;
  if (point == "recovery.adopted" && !life->dead) lose_unsynced_of_adopted(*life);
  pause(100);
  if (life->dead) throw Killed();
}

void CrashWorld::join(unsigned id) {
  membership::MembershipOptions options{
      .node = static_cast<NodeId>(id), .cluster = "c", .nodes = ids(), .address = "here"};
  options.together_us = options.rejoins_us = 0;  // it is tried again
  options.note_life = [this, id](membership::Generation generation) {
    return membership::write_life(*host_.disk(id), HostFiles::path(id),
                                  {.cluster = "c", .node = static_cast<NodeId>(id), .generation = generation});
  };
  auto joined = Membership::join(std::make_unique<membership::MemoryBoard>(place_), options, {});
  if (!joined.ok()) return;
  auto life = std::make_shared<Life>();
  life->node = id;
  life->membership = std::move(*joined);
  lives_[id] = life;
  spawn(life, [this, life] {
    while (goes_on(*life)) {
      pause(40);
      if (goes_on(*life) && !life->condemned) life->membership->step(0);
    }
  });
}

/// The database and the fabric are there: the node listens, and does what the threads of a node do.
void CrashWorld::open(const LifePtr& life) {
  SimClusterNode& mine = node(*life);
  db::Engine& engine = mine.database().engine();
  engine.set_fence(life->membership->fence());
  mine.set_living(life->membership->living());
  tables_[life->node] = mine.table(
      "lists", {.max_value_bytes = kMostBytes, .index = options_.index, .expected_keys = 64, .shared = true});
  for (const Member& member : life->membership->configuration()->members) {
    if (member.state != MemberState::kDead) continue;
    if (const Status cut = mine.fabric().cut_off(member.id, member.generation); !cut.ok()) note_wrong(cut.message());
  }
  mine.listen();
  for (unsigned i = 0; i <= options_.clients; ++i) mine.add_worker();
  life->recoverer.emplace(recoverer_parts(*life));
  life->turns.emplace(*life->membership, engine.epochs(), duties(*life));
  spawn(life, [this, life] { follow_membership(life); });
  spawn(life, [this, life] { lead(*life); });
  spawn(life, [this, life] { publish(*life); });
}

void CrashWorld::follow_membership(const LifePtr& life) {
  while (goes_on(*life)) {
    pause(60);
    if (goes_on(*life) && life->membership->status().ok()) (void)life->turns->take(*life->membership->configuration());
  }
}

/// The duties of ClusterNode. They belong to the life, so they name it by reference: a shared pointer would keep it for
/// ever.
db::SurvivorDuties CrashWorld::duties(Life& life) {
  return {
      .cut_off =
          [this, &life](NodeId dead, membership::Generation last) {
            pause(200);
            return node(life).fabric().cut_off(dead, last);
          },
      .act =
          [this, &life](const Configuration& configuration) {
            epoch::EpochManager& epochs = node(life).database().engine().epochs();
            forget_ended(life, configuration);
            take_back_lent(life, configuration);
            if (!configuration.owed.empty()) epochs.limit_snapshots(epochs.snapshot_of(epochs.current()));
            act_in(configuration.number, node(life).control());
          },
      .follow = [this, &life](const Configuration& configuration) { return look_after_others(life, configuration); },
      .durable = [this, &life] { return node(life).control().by_node.durable.load(); },
      .warn = [this](const std::string& text) { note_wrong(text); }};
}

void CrashWorld::forget_ended(Life& life, const Configuration& configuration) {
  for (const Member& member : configuration.members)
    life.former.push_back(node(life).directory().forget_former(member.id, member.live() ? member.generation : 0));
}

/// Takes back what dead nodes had borrowed, as ClusterNode::take_back_lent() does.
void CrashWorld::take_back_lent(Life& life, const Configuration& configuration) {
  for (const Member& member : configuration.members) {
    const membership::Generation lives = member.live() ? member.generation : 0;
    const membership::Generation before = std::exchange(life.lends_to[member.id], lives);
    if (before != 0 && before != lives) node(life).service().forget(member.id);
  }
}

bool CrashWorld::look_after_others(Life& life, const Configuration& configuration) {
  life.leads = db::leader_options(configuration, static_cast<NodeId>(life.node), ids(), kPeriod_us);
  if (configuration.owed.empty()) node(life).database().engine().epochs().unlimit_snapshots();
  for (const Member& member : configuration.members) {
    const Life& other = *lives_[member.id];
    const bool back = member.state == MemberState::kServing && member.id != life.node &&
                      life.learned[member.id] != member.generation &&
                      other.membership->generation() == member.generation;
    if (!back) continue;
    life.learned[member.id] = member.generation;
    life.former.push_back(node(life).directory().learn(member.id, member.generation, node(other).describe()));
  }
  return life.recoverer->step(configuration);
}

db::RecovererParts CrashWorld::recoverer_parts(Life& life) {
  return {.membership = *life.membership,
          .files = host_,
          .directory_of = [this](NodeId id) -> std::optional<Options> {
            // Another process has it until then, and would be asked again and again.
            const bool ended = lives_[id]->dead || !lives_[id]->condemned;
            return ended ? std::optional(engine_options(id)) : std::nullopt;
          },
          .remembered = [this](NodeId id) -> Result<membership::Generation> {
            const auto noted = membership::read_life(host_, HostFiles::path(id), "c", id);
            if (!noted.ok()) return noted.status();
            return noted->generation;
          },
          .settle = [this, &life](std::span<const log::Debt> debts,
                                  const std::function<bool()>& may_act) -> Result<SettleCounts> {
            Reach& reach = node(life).remote(options_.clients).reach();
            char* const room = reach.buffers.take(BufferPool::kChunkBytes);
            auto done =
                settle_all(debts, {.scheduler = reach.scheduler,
                                   .endpoint = reach.endpoint,
                                   .peers = reach.peers,
                                   .waiter = reach.waiter,
                                   .messenger = reach.messenger,
                                   .room = {room, BufferPool::kChunkBytes},
                                   .connect_timeout_us = reach.connect_timeout_us,
                                   .lives = [&life](NodeId id) { return life.membership->living().reached(id); },
                                   .may_act = may_act});
            reach.buffers.give_back(room, BufferPool::kChunkBytes);
            if (!done.ok()) return done;
            counts_.settled.redone += done->redone;
            counts_.settled.freed += done->freed;
            counts_.settled.settled_before += done->settled_before;
            counts_.settled.gone += done->gone;
            return done;
          },
          .epoch = [this, &life] { return node(life).database().engine().epochs().current(); },
          .tell =
              [this](NoticeSeverity severity, const std::string& text) {
                if (severity == NoticeSeverity::kError) note_wrong(text);
              },
          .recoveries = life.recoveries};
}

void CrashWorld::lead(Life& life) {
  LeaderOptions over;  // in which a later leader was seen
  while (goes_on(life)) {
    const LeaderOptions options = life.leads;
    if (options.members.empty() || options == over) {
      pause(20);
      continue;
    }
    lead_epochs(cluster_, life.node, options, [&](const std::optional<TurnReport>& report) {
      if (report && report->turn == Turn::kSuperseded) over = options;
      return goes_on(life) && life.leads == options && over != options;
    });
  }
}

/// The node tells how far it is. What counts as durable stays so.
void CrashWorld::publish(Life& life) {
  while (goes_on(life)) {
    (void)node(life).database().step();
    const epoch::Epoch durable = node(life).control().by_leader.durable.load();
    if (durable < life.durable) note_wrong("D went back at node " + std::to_string(life.node));
    life.durable = durable;
    expect_logged(durable);
    pause(40);
  }
}

/// An epoch that counts as durable is in the logs of all lives that have served, the dead ones included as long as they
/// owe something.
void CrashWorld::expect_logged(epoch::Epoch durable) {
  for (const LifePtr& life : lives_) {
    const bool concerned = life->serves && life->first_epoch <= durable;
    if (!concerned || node(*life).control().by_node.durable.load() >= durable || is_settled(*life)) continue;
    note_wrong("epoch " + std::to_string(durable) + " counts as durable before the log of node " +
               std::to_string(life->node) + " has it");
  }
}

/// Whether the life is over and owes nothing, by what the board says at this moment.
bool CrashWorld::is_settled(const Life& life) {
  const auto id = static_cast<NodeId>(life.node);
  const membership::Generation generation = life.membership->generation();
  const Configuration newest =
      membership::configuration_of(membership::MemoryBoard(place_).read().value().text).value();
  return newest.debt(id, generation) == nullptr && !(newest.lives(id) && newest.find(id)->generation == generation);
}

/// The node lets itself be reached, and serves when the leader has let it in.
void CrashWorld::begin_to_serve(const LifePtr& life) {
  spawn(life, [this, life] {
    if (!life->membership->be_ready().ok()) return;
    while (goes_on(*life) && !may_serve(node(*life).control())) cluster_.scheduler.yield();
    // As db::Peers::await_admission() does for protocols that compute times.
    const epoch::Epoch admitted = node(*life).database().current_epoch();
    while (options_.protocol != "silo" && goes_on(*life) && node(*life).database().current_epoch() < admitted + 2)
      cluster_.scheduler.yield();
    if (!goes_on(*life) || !life->membership->serve().ok()) return;
    life->first_epoch = node(*life).database().current_epoch();
    life->serves = true;
    for (unsigned worker = 0; worker < options_.clients; ++worker)
      spawn(life, [this, life, worker] { run_client(life, worker); });
  });
}

}  // namespace granary::cluster::test
