#include "tests/cluster/transaction/append_world.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/test_hooks.h"
#include "tests/cluster/transaction/list_reader.h"

namespace granary::cluster::test {

using bench::history::Element;
using bench::history::EventType;

namespace {

constexpr unsigned kMostTries = 2'000;      // to read everything at the end
constexpr unsigned kMostTurns = 1'000'000;  // until what has committed is released

}  // namespace

AppendWorld::AppendWorld(const AppendOptions& options)
    : options_(options),
      random_(options.network.seed, 1),
      directory_(options.logged ? std::make_unique<tests::RingDirectory>() : nullptr),
      cluster_(options.nodes, options.workers, options.network, [this](unsigned node) { return engine_options(node); }),
      tables_(cluster_.tables("lists", {.max_value_bytes = static_cast<std::uint32_t>(options.length * sizeof(Element)),
                                        .index = options.index,
                                        .expected_keys = 64,
                                        .shared = true})),
      appends_(std::size_t{options.nodes} * options.lists),
      taken_(std::size_t{options.nodes} * options.workers) {
  if (options.clocks_are_set) {
    begin_real_clocks();
  } else if (options.declared != 0) {
    begin_clocks();
  }
  cluster_.start();
}

Options AppendWorld::engine_options(unsigned node) const {
  Options options = tests::manual_options();
  options.snapshot_epochs = 2;  // so that garbage is collected before all is over
  if (options_.regions && tests::asked_protocol.commits_in_region) options.htm = Htm::kSim;
  if (options_.clocks_are_set) options.max_open_epochs = 0;  // some transactions outlast what becomes of the clocks
  if (options_.logged) {
    options.directory = options.reliable_directory = directory_->path() + "/" + std::to_string(node);
    options.ring_bytes = std::uint64_t{64} << 10;
  }
  return options;
}

std::string AppendWorld::run() {
  for (unsigned i = 0; i < options_.nodes * options_.workers * options_.fibers; ++i) {
    const unsigned worker = i / options_.fibers;
    const Client client{worker / options_.workers, worker % options_.workers, running_++};
    cluster_.scheduler.spawn([this, client] { run_client(client); });
  }
  if (options_.trouble) {
    begin_trouble();
  } else {
    cluster_.scheduler.spawn([this] { lead(); });
  }
  if (options_.interrupted) begin_interruptions();
  cluster_.scheduler.run();
  base::set_sync_hook({});
  return wrong_.empty() ? wrong_epochs(seen_) : wrong_;
}

/// The list that a slot appends to now.
AppendWorld::Key AppendWorld::current(unsigned slot) const {
  const std::uint64_t node = slot / options_.lists, number = slot % options_.lists;
  return static_cast<Key>(node * kNodeStride + number + appends_[slot] / options_.length * options_.lists);
}

AppendWorld::MicroOp AppendWorld::op_on(unsigned slot, MicroOp::Kind kind) {
  const Key key = current(slot);
  if (kind == MicroOp::Kind::kRead) return MicroOp::read(key);
  return MicroOp::append(key, static_cast<Element>(appends_[slot]++ % options_.length + 1));
}

AppendWorld::MicroOp AppendWorld::some_op() {
  const unsigned slot = some_slot();
  return op_on(slot, random_.chance(0.5) ? MicroOp::Kind::kRead : MicroOp::Kind::kAppend);
}

/// Of all lists that a node has at the moment, and of some that are not there yet.
void AppendWorld::plan_scan(Plan& plan) {
  const auto node = static_cast<unsigned>(random_.below(options_.nodes));
  const Key first = current(node * options_.lists);
  plan.scanned = 2 * options_.lists;
  for (unsigned i = 0; i < plan.scanned; ++i) plan.ops.push_back(MicroOp::read(first + i));
}

AppendWorld::Plan AppendWorld::make_plan() {
  Plan plan;
  if (options_.index == IndexKind::kOrdered && random_.chance(0.2)) plan_scan(plan);
  for (std::uint64_t count = random_.between(1, 4); count > 0; --count) plan.ops.push_back(some_op());
  return plan;
}

/// The same to the same lists; each append is another.
AppendWorld::Plan AppendWorld::once_more(Plan plan) {
  for (std::size_t i = plan.scanned; i < plan.ops.size(); ++i) {
    const auto node = static_cast<unsigned>(plan.ops[i].key / kNodeStride);
    const auto number = static_cast<unsigned>(plan.ops[i].key % kNodeStride % options_.lists);
    plan.ops[i] = op_on(node * options_.lists + number, plan.ops[i].kind);
  }
  return plan;
}

void AppendWorld::run_client(const Client& client) {
  for (unsigned i = 0; i < options_.transactions; ++i) {
    pause(random_.chance(0.1) ? 200 : 10);
    if (random_.chance(0.1)) look_back(client);
    // Who has waited for the end of a lease is there when it ends.
    const Plan plan = make_plan();
    if (transact(client, plan, 0.05) == AbortReason::kRemotelyLocked) (void)transact(client, once_more(plan), 0.05);
  }
  deliver(client);
  if (--running_ != 0) return;
  read_all(client);
  deliver(client);
  over_ = true;
}

void AppendWorld::begin_interruptions() {
  for (unsigned node = 0; node < options_.nodes; ++node)
    interrupters_.push_back(cluster_.node(node).database().register_worker().value());
  base::set_sync_hook([this](std::string_view point) { interrupt(point); });
}

/// Runs a transaction of a node's worker that has no client and that reaches no other node: it is over before the
/// interrupted step goes on.
void AppendWorld::interrupt(std::string_view point) {
  static constexpr std::string_view kPoints[] = {"owner.placeholder_made", "service.answered", "x_lock.taken",
                                                 "version_copy.linked",    "across.locked",    "across.agreed",
                                                 "commit.locked_one",      "read.copied",      "tictoc.extending",
                                                 "region.planned",         "region.checked",   "locked_reads.placed"};
  if (interrupting_ || running_ == 0 || std::find(std::begin(kPoints), std::end(kPoints), point) == std::end(kPoints))
    return;
  if (!random_.chance(0.3)) return;
  interrupting_ = true;
  interrupted_ = cluster_.scheduler.current();
  const auto node = static_cast<unsigned>(random_.below(options_.nodes));
  const std::uint64_t process = std::uint64_t{options_.nodes} * options_.workers * options_.fibers + node;
  Plan plan;
  for (std::uint64_t count = random_.between(1, 2); count > 0; --count) {
    const auto slot = static_cast<unsigned>(node * options_.lists + random_.below(options_.lists));
    plan.ops.push_back(op_on(slot, random_.chance(0.5) ? MicroOp::Kind::kRead : MicroOp::Kind::kAppend));
  }
  (void)transact({node, kInterrupter, process}, std::move(plan), 0.05);
  interrupting_ = false;
}

/// The client's worker rests, as nothing else would be tried again.
void AppendWorld::deliver(const Client& client) {
  RemoteWorker& remote = cluster_.node(client.node).remote(client.worker);
  remote.await_arrival();
  for (unsigned tries = 0; remote.has_left_locks() && tries < kMostTries; ++tries) {
    cluster_.node(client.node).worker(client.worker).collect_garbage();
    pause(200);
  }
}

AbortReason AppendWorld::transact(const Client& client, Plan plan, double abort_share) {
  Ops asked = plan.ops;
  note(EventType::kInvoke, client, asked);
  Worker& worker =
      client.worker == kInterrupter ? interrupters_[client.node] : cluster_.node(client.node).worker(client.worker);
  Transaction t = worker.begin();
  Open open{client, t};
  CommitResult done{.reason = AbortReason::kUser, .ticket = {}};
  if (!execute(open, plan) || random_.chance(abort_share)) {
    if (t.aborted() != AbortReason::kNone) done.reason = t.aborted();
    t.abort();
  } else {
    done = t.commit();
  }
  if (done.committed()) {
    if (open.twice) wrong_ = "a list was seen twice at once";
    seen_.push_back({.epoch = done.ticket.epoch, .ops = plan.ops});
    ++committed_;
    // TicToc: who only reads is serial when what it has read was written, which may be long durable.
    if (tests::asked_protocol.in_real_time || done.ticket.tid != 0) expect_open(done.ticket.epoch);
    if (options_.logged) await_release(client, done.ticket.epoch);
  }
  note(done.committed() ? EventType::kOk : EventType::kFail, client, std::move(done.committed() ? plan.ops : asked));
  return done.reason;
}

/// I13: nothing counts as durable of an epoch in which somebody, who has ended but now, was still to commit. (Who could
/// not deliver something tries again first, in its own time.)
void AppendWorld::expect_open(epoch::Epoch epoch) {
  for (unsigned node = 0; !options_.trouble && node < options_.nodes; ++node) {
    if (cluster_.node(node).control().by_leader.durable.load() >= epoch)
      wrong_ = "epoch " + std::to_string(epoch) + " counted as durable before all of it had committed";
  }
}

/// What nobody outside has been shown may be lost, so it counts from its release on; which all logs must have then.
void AppendWorld::await_release(const Client& client, epoch::Epoch epoch) {
  const Database& database = cluster_.node(client.node).database();
  for (unsigned turns = 0; database.released_epoch() < epoch; ++turns) {
    if (turns == kMostTurns) wrong_ = "epoch " + std::to_string(epoch) + " is not released";
    if (!wrong_.empty()) return;
    cluster_.scheduler.yield();
  }
  for (unsigned node = 0; node < options_.nodes; ++node) {
    if (cluster_.node(node).control().by_node.durable.load() < epoch)
      wrong_ =
          "epoch " + std::to_string(epoch) + " was released before the log of node " + std::to_string(node) + " had it";
  }
  ++released_;
}

/// Also shows that nobody left a lock behind.
void AppendWorld::read_all(const Client& client) {
  for (unsigned slot = 0; slot < appends_.size(); ++slot) {
    const Key last = current(slot);
    for (Key key = static_cast<Key>(slot / options_.lists * kNodeStride + slot % options_.lists); key <= last;
         key += options_.lists) {
      const std::uint64_t before = committed_;
      for (unsigned tries = 0; committed_ == before && tries < kMostTries; ++tries) {
        (void)transact(client, {.ops = {MicroOp::read(key)}}, 0);
        pause(4);
      }
      if (committed_ == before) wrong_ = "list " + std::to_string(key) + " cannot be read at the end";
    }
  }
}

/// One thread, so the order of notes is real time's.
void AppendWorld::note(EventType type, const Client& client, Ops ops) {
  history_.push_back({.type = type, .process = client.process, .time_ns = history_.size(), .ops = std::move(ops)});
}

/// Raises E and D node by node, in any order, with pauses in between, when nobody is left in an earlier epoch.
void AppendWorld::lead() {
  std::vector<unsigned> order(options_.nodes);
  std::iota(order.begin(), order.end(), 0U);
  while (!over_) {
    pause(40);
    epoch::Epoch oldest = ~epoch::Epoch{0}, snapshot = oldest, durable = oldest;
    for (const unsigned node : order) {
      step(node);
      const epoch::ControlBlock::ByNode& told = cluster_.node(node).control().by_node;
      oldest = std::min(oldest, told.oldest.load());
      snapshot = std::min(snapshot, told.oldest_snapshot.load());
      durable = std::min(durable, told.durable.load());
    }
    if (oldest < epoch_) continue;
    ++epoch_;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const unsigned node : order) {
      epoch::ControlBlock::ByLeader& words = cluster_.node(node).control().by_leader;
      if (snapshot != 0) words.snapshot_reclamation.store(snapshot - 1);
      words.durable.store(durable);
      words.epoch.store(epoch_);
      pause(30);
    }
  }
}

/// A node tells how far it is.
void AppendWorld::step(unsigned node) {
  take_log(node);
  (void)cluster_.node(node).database().step();
}

void AppendWorld::pause(unsigned most) {
  if (interrupting_ && cluster_.scheduler.current() == interrupted_) return;
  for (std::uint64_t turns = random_.below(most); turns > 0; --turns) cluster_.scheduler.yield();
}

}  // namespace granary::cluster::test
