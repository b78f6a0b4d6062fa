#include "tests/dist/transaction/append_world.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <granary/key.h>

namespace granary::dist::test {

using bench::history::Element;
using bench::history::EventType;

namespace {

constexpr std::uint64_t kNodeStride = 1'000'000;  // keys of a node are together
constexpr unsigned kMostTries = 2'000;            // to read everything at the end

std::vector<Element> list_of(std::string_view bytes) {
  std::vector<Element> list(bytes.size() / sizeof(Element));
  if (!list.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

}  // namespace

AppendWorld::AppendWorld(const AppendOptions& options)
    : options_(options),
      random_(options.network.seed, 1),
      cluster_(options.nodes, options.workers, options.network),
      tables_(cluster_.tables("lists", {.max_value_bytes = static_cast<std::uint32_t>(options.length * sizeof(Element)),
                                        .index = options.index,
                                        .expected_keys = 64,
                                        .shared = true})),
      appends_(std::size_t{options.nodes} * options.lists) {
  cluster_.start();
}

std::string AppendWorld::run() {
  for (unsigned node = 0; node < options_.nodes; ++node) {
    for (unsigned worker = 0; worker < options_.workers; ++worker) {
      const Client client{node, worker, running_++};
      cluster_.scheduler.spawn([this, client] { run_client(client); });
    }
  }
  if (options_.trouble) {
    begin_trouble();
  } else {
    cluster_.scheduler.spawn([this] { lead(); });
  }
  cluster_.scheduler.run();
  return wrong_;
}

std::string AppendWorld::bytes_of(Key key) {
  const auto number = static_cast<std::uint64_t>(key);
  const EncodedKey<std::uint64_t> encoded = encode_key<std::uint64_t>(number % kNodeStride);
  return std::string(1, static_cast<char>('0' + number / kNodeStride)) + std::string(std::string_view(encoded));
}

/// The list that a slot appends to now.
AppendWorld::Key AppendWorld::current(unsigned slot) const {
  const std::uint64_t node = slot / options_.lists, number = slot % options_.lists;
  return static_cast<Key>(node * kNodeStride + number + appends_[slot] / options_.length * options_.lists);
}

AppendWorld::MicroOp AppendWorld::some_op() {
  const auto slot = static_cast<unsigned>(random_.below(appends_.size()));
  const Key key = current(slot);
  if (random_.chance(0.5)) return MicroOp::read(key);
  return MicroOp::append(key, static_cast<Element>(appends_[slot]++ % options_.length + 1));
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

void AppendWorld::run_client(const Client& client) {
  for (unsigned i = 0; i < options_.transactions; ++i) {
    pause(random_.chance(0.1) ? 200 : 10);
    transact(client, make_plan(), 0.05);
  }
  if (--running_ != 0) return;
  read_all(client);
  over_ = true;
}

void AppendWorld::transact(const Client& client, Plan plan, double abort_share) {
  Ops asked = plan.ops;
  note(EventType::kInvoke, client, asked);
  Transaction t = cluster_.node(client.node).worker(client.worker).begin();
  bool committed = false;
  if (!execute(client, t, plan) || random_.chance(abort_share)) {
    t.abort();
  } else {
    committed = t.commit().committed();
  }
  note(committed ? EventType::kOk : EventType::kFail, client, std::move(committed ? plan.ops : asked));
  committed_ += committed ? 1 : 0;
}

/// Also shows that nobody left a lock behind.
void AppendWorld::read_all(const Client& client) {
  for (unsigned slot = 0; slot < appends_.size(); ++slot) {
    const Key last = current(slot);
    for (Key key = static_cast<Key>(slot / options_.lists * kNodeStride + slot % options_.lists); key <= last;
         key += options_.lists) {
      const std::uint64_t before = committed_;
      for (unsigned tries = 0; committed_ == before && tries < kMostTries; ++tries) {
        transact(client, {.ops = {MicroOp::read(key)}}, 0);
        pause(4);
      }
      if (committed_ == before) wrong_ = "list " + std::to_string(key) + " cannot be read at the end";
    }
  }
}

bool AppendWorld::execute(const Client& client, Transaction& t, Plan& plan) {
  if (plan.scanned != 0 && !scan(client, t, std::span(plan.ops).first(plan.scanned))) return false;
  for (std::size_t i = plan.scanned; i < plan.ops.size(); ++i) {
    if (random_.chance(0.3)) pause(30);
    MicroOp& op = plan.ops[i];
    if (op.kind == MicroOp::Kind::kAppend ? !append(client, t, op) : !read(client, t, op)) return false;
  }
  return true;
}

bool AppendWorld::append(const Client& client, Transaction& t, const MicroOp& op) {
  MicroOp before = MicroOp::read(op.key);
  if (!read(client, t, before)) return false;
  before.list.push_back(op.element);
  const std::string_view value(reinterpret_cast<const char*>(before.list.data()), before.list.size() * sizeof(Element));
  return t.put(tables_[client.node], bytes_of(op.key), value) == granary::Outcome::kOk;
}

bool AppendWorld::read(const Client& client, Transaction& t, MicroOp& op) {
  std::string bytes;
  const granary::Outcome got = t.get(tables_[client.node], bytes_of(op.key), bytes);
  if (got != granary::Outcome::kOk && got != granary::Outcome::kNotFound) return false;
  op = MicroOp::read(op.key, got == granary::Outcome::kOk ? list_of(bytes) : std::vector<Element>{});
  return true;
}

bool AppendWorld::scan(const Client& client, Transaction& t, std::span<MicroOp> ops) {
  const std::string from = bytes_of(ops.front().key), to = bytes_of(ops.back().key);
  for (MicroOp& op : ops) op = MicroOp::read(op.key, std::vector<Element>{});
  const ScanResult scanned = t.scan(tables_[client.node], {.from = from, .to = to, .to_inclusive = true},
                                    [&](std::string_view key, std::string_view value) {
                                      for (MicroOp& op : ops) {
                                        if (bytes_of(op.key) == key) op.list = list_of(value);
                                      }
                                      return true;
                                    });
  return static_cast<bool>(scanned);
}

/// One thread, so the order of notes is real time's.
void AppendWorld::note(EventType type, const Client& client, Ops ops) {
  history_.push_back({.type = type, .process = client.process, .time_ns = history_.size(), .ops = std::move(ops)});
}

/// Raises E node by node, in any order, with pauses in between, when nobody is left in an earlier epoch.
void AppendWorld::lead() {
  std::vector<unsigned> order(options_.nodes);
  std::iota(order.begin(), order.end(), 0U);
  while (running_ > 0) {
    pause(40);
    bool all = true;
    for (const unsigned node : order) {
      (void)cluster_.node(node).database().step();
      all = all && cluster_.node(node).control().by_node.oldest.load() >= epoch_;
    }
    if (!all) continue;
    ++epoch_;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const unsigned node : order) {
      cluster_.node(node).control().by_leader.epoch.store(epoch_);
      pause(30);
    }
  }
}

void AppendWorld::pause(unsigned most) {
  for (std::uint64_t turns = random_.below(most); turns > 0; --turns) cluster_.scheduler.yield();
}

}  // namespace granary::dist::test
