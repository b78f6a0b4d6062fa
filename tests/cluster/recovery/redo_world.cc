#include "tests/cluster/recovery/redo_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/test_hooks.h"
#include "src/record/shared_record.h"

namespace granary::cluster::test {

using membership::MemberState;

namespace {

constexpr unsigned kAccounts = 6;  ///< of each home
constexpr std::uint64_t kDeposit = 100;
constexpr unsigned kMostTransfers = 60;  ///< of a client: all of them are in its ring
constexpr unsigned kMostTurns = 1'000'000;

/// Values have different lengths, and most take more than one cache line.
std::string value_of(std::uint64_t balance) {
  return fmt::format("{}:", balance) + std::string(20 + balance % 90, static_cast<char>('a' + balance % 26));
}

}  // namespace

RedoWorld::RedoWorld(std::uint64_t seed, IndexKind index)
    : random_(seed, 1),
      cluster_(kNodes, kWorkers, {.seed = seed, .most_notice = 300'000},
               [this](unsigned node) {
                 Options options = tests::manual_options();
                 options.directory = options.reliable_directory = directory_of(node);
                 options.ring_bytes = std::uint64_t{64} << 10;
                 options.memory_limit_bytes = std::uint64_t{16} << 20;
                 return options;
               }),
      tables_(cluster_.tables(
          "accounts", {.max_value_bytes = 128, .index = index, .expected_keys = 2 * kAccounts, .shared = true})) {
  for (unsigned node = 0; node < kNodes; ++node) {
    follow(node);
    cluster_.node(node).set_living(living_[node]);
  }
  cluster_.start();
  cluster_.pass_epochs(2);
  base::set_sync_hook([this](std::string_view point) { pass_point(point); });
}

RedoWorld::~RedoWorld() { base::set_sync_hook({}); }

std::string RedoWorld::run() {
  open_accounts();
  notice_us_ = random_.chance(0.5) ? 150 : 1;
  if (random_.chance(0.7)) {
    dies_at_ = random_.chance(0.6) ? "across.logged" : "across.";
    points_ = 1 + random_.below(dies_at_ == "across." ? 40 : 8);
  }
  for (unsigned worker = 0; worker < kWorkers; ++worker) spawn([this, worker] { run_client(kDead, worker); });
  for (unsigned worker = 1; worker < kWorkers; ++worker) spawn([this, worker] { run_client(kSecond, worker); });
  spawn([this] { direct(); });
  cluster_.scheduler.run();
  if (wrong_.empty()) check();
  return wrong_;
}

void RedoWorld::spawn(std::function<void()> body) { cluster_.scheduler.spawn(std::move(body)); }

void RedoWorld::sleep_up_to(std::uint64_t us) {
  const std::uint64_t end = cluster_.network.now() + random_.below(us * 1000);
  while (cluster_.network.now() < end) cluster_.scheduler.yield();
}

void RedoWorld::note_wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
  over_ = true;
}

// --- The clients ---

void RedoWorld::open_accounts() {
  for (unsigned home = 1; home < kNodes; ++home) {
    for (unsigned i = 0; i < kAccounts; ++i) {
      accounts_.push_back(std::to_string(home) + std::string(1 + 9 * i, static_cast<char>('a' + i)));
      Transaction t = cluster_.node(home).worker().begin();
      const bool opened = t.put(tables_[home], accounts_.back(), value_of(kDeposit)) == Outcome::kOk;
      if (!opened || !t.commit().committed()) note_wrong("an account cannot be opened");
    }
  }
}

void RedoWorld::run_client(unsigned node, unsigned worker) {
  if (node == kDead) doomed_.insert(cluster_.scheduler.current());
  for (unsigned i = 0; i < kMostTransfers && !over_ && !dead_.contains(static_cast<rdma::NodeId>(node)); ++i) {
    transfer(node, worker);
    for (std::uint64_t turns = random_.below(8); turns > 0; --turns) cluster_.scheduler.yield();
  }
  doomed_.erase(cluster_.scheduler.current());
}

/// Moves money from one account to one or two others. An account that has nothing left is closed every other time.
void RedoWorld::transfer(unsigned node, unsigned worker) {
  std::vector<std::string> keys;
  const std::size_t count = 2 + random_.below(2);
  while (keys.size() < count) {
    const std::string& key = accounts_[random_.below(accounts_.size())];
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  Transaction t = cluster_.node(node).worker(worker).begin();
  const Table& table = tables_[node];
  std::vector<std::uint64_t> balances(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!read(t, node, keys[i], balances[i])) return;
  }
  const bool all = random_.chance(0.3);
  const std::uint64_t share = all ? balances[0] / (count - 1) : random_.below(balances[0] / (count - 1) + 1);
  for (std::size_t i = 1; i < count; ++i) {
    balances[0] -= share;
    balances[i] += share;
  }
  const bool close = balances[0] == 0 && share != 0 && random_.chance(0.5);
  Outcome done = close ? t.remove(table, keys[0]) : t.put(table, keys[0], value_of(balances[0]));
  for (std::size_t i = 1; i < count && done == Outcome::kOk; ++i) done = t.put(table, keys[i], value_of(balances[i]));
  if (done == Outcome::kOk && t.commit().committed() && node != kDead) ++counts_.committed;
}

/// False if the transaction cannot go on.
bool RedoWorld::read(Transaction& t, unsigned node, const std::string& key, std::uint64_t& balance) {
  std::string value;
  const Outcome found = t.get(tables_[node], key, value);
  balance = found == Outcome::kOk ? std::strtoull(value.c_str(), nullptr, 10) : 0;
  if (found == Outcome::kOk && value != value_of(balance)) note_wrong("account " + key + " has the value " + value);
  return found == Outcome::kOk || found == Outcome::kNotFound;
}

/// The node may die between any two steps of a commit.
void RedoWorld::pass_point(std::string_view point) {
  if (points_ == 0 || !point.starts_with(dies_at_) || !doomed_.contains(cluster_.scheduler.current())) return;
  if (--points_ == 0) die(kDead);
}

// --- What befalls the nodes ---

void RedoWorld::direct() {
  sleep_up_to(2'000);
  if (!dead_.contains(kDead)) die(kDead);
  points_ = 0;
  let_others_notice(kDead);
  await_cut(kDead);
  left_.read();
  if (random_.chance(0.4)) {
    spawn([this, within_us = random_.chance(0.6) ? 60 : 400] {  // mostly before the first recoverer is done
      sleep_up_to(within_us);
      crash_home();
    });
  }
  make_trouble(kFirst);
  recover_first();
  if (dead_.contains(kFirst)) {
    let_others_notice(kFirst);
    await_cut(kFirst);
  }
  make_trouble(kSecond);
  recover_second();
  for (unsigned turns = 0; troubles_ != 0; ++turns) {
    if (turns == kMostTurns) return note_wrong("the troubles do not end");
    cluster_.scheduler.yield();
  }
  over_ = true;
}

/// The process ends. What its device has under way may still arrive, until the node is cut off. Fibers of the node only
/// come to an end: they reach nobody.
void RedoWorld::die(rdma::NodeId node) {
  dead_.insert(node);
  if (node == kDead) left_.copy(directory_of(node));
  for (rdma::NodeId other = 0; other < kNodes; ++other) {
    if (other == node) continue;
    cluster_.network.lose_connections(node, other);
    mark_dead(node, other);
  }
}

void RedoWorld::crash_home() {
  if (over_) return;
  ++counts_.homes_died;
  dead_.insert(kHome);
  cluster_.node(kHome).crash();
  let_others_notice(kHome);
}

void RedoWorld::make_trouble(rdma::NodeId recoverer) {
  const auto some_home = [this, recoverer] {
    const auto home = static_cast<rdma::NodeId>(1 + random_.below(kNodes - 1));
    return home == recoverer ? kHome : home;
  };
  for (std::uint64_t losses = random_.below(3); losses > 0; --losses) {
    ++troubles_;
    spawn([this, recoverer, other = some_home()] {
      sleep_up_to(300);
      cluster_.network.lose_connections(recoverer, other);
      --troubles_;
    });
  }
  if (!random_.chance(0.3)) return;
  ++troubles_;
  spawn([this, recoverer, other = some_home()] {
    sleep_up_to(200);
    cluster_.network.partition({recoverer}, {other});
    sleep_up_to(300);
    cluster_.network.heal_link(recoverer, other);
    cluster_.network.heal_link(other, recoverer);
    --troubles_;
  });
}

/// Each of the living learns of the death, and then cuts the dead node off, at a moment of its own.
void RedoWorld::let_others_notice(rdma::NodeId dead) {
  for (rdma::NodeId node = 1; node < kNodes; ++node) {
    if (dead_.contains(node)) continue;
    ++troubles_;
    spawn([this, node, dead] {
      sleep_up_to(notice_us_);
      if (!dead_.contains(node)) mark_dead(node, dead);
      sleep_up_to(notice_us_);
      if (!dead_.contains(node)) {
        const Status cut = cluster_.node(node).fabric().cut_off(dead, 1);
        if (!cut.ok()) note_wrong(cut.message());
        cut_off_[node].insert(dead);
      }
      --troubles_;
    });
  }
}

/// Waits until all living nodes have cut it off.
void RedoWorld::await_cut(rdma::NodeId dead) {
  for (rdma::NodeId node = 1; node < kNodes; ++node) {
    while (!dead_.contains(node) && !cut_off_[node].contains(dead)) cluster_.scheduler.yield();
  }
}

void RedoWorld::mark_dead(unsigned at, rdma::NodeId dead) {
  known_dead_[at].insert(dead);
  follow(at);
}

/// The node's workers know who lives, as the node does.
void RedoWorld::follow(unsigned at) {
  membership::Configuration configuration;
  for (membership::NodeId id = 0; id < kNodes; ++id) {
    const MemberState state = known_dead_[at].contains(id) ? MemberState::kDead : MemberState::kServing;
    configuration.add(id) = {.id = id, .generation = 1, .state = state, .address = ""};
  }
  living_[at].follow(configuration);
}

// --- The recoverers ---

/// The first recoverer may die between two rounds or at any other moment. Or it may not act for a moment, and begins
/// anew.
void RedoWorld::recover_first() {
  const std::uint64_t questions = 2 + 2 * left_.debts().size();  // if all are held, and settled one by one
  const auto dies_at = random_.chance(0.5) ? random_.below(questions) : ~std::uint64_t{0};
  const auto refused_at = random_.chance(0.6) ? random_.below(questions) : ~std::uint64_t{0};
  if (random_.chance(0.25)) {
    ++troubles_;
    spawn([this] {
      sleep_up_to(250);
      if (first_recovers_ && !dead_.contains(kFirst)) die(kFirst);
      --troubles_;
    });
  }
  std::uint64_t asked = 0;
  bool refused = false;
  const auto may_act = [&] {
    const std::uint64_t question = asked++;
    if (question == dies_at && !dead_.contains(kFirst)) die(kFirst);
    refused |= question == refused_at;
    return question != refused_at && !dead_.contains(kFirst);
  };
  first_recovers_ = true;
  Result<SettleCounts> done = recover(kFirst, may_act);
  if (!done.ok() && refused && !dead_.contains(kFirst)) {
    ++counts_.refused;
    done = recover(kFirst, may_act);
  }
  first_recovers_ = false;
  if (dead_.contains(kFirst)) ++counts_.recoverers_died;
  if (done.ok()) counts_.first = *done;
  if (!done.ok() && !dead_.contains(kFirst)) note_wrong(done.status().message());
}

/// The second recoverer begins from the beginning, whatever the first one has done.
void RedoWorld::recover_second() {
  const Result<SettleCounts> done = recover(kSecond, [] { return true; });
  if (!done.ok()) return note_wrong(done.status().message());
  counts_.second = *done;
}

Result<SettleCounts> RedoWorld::recover(rdma::NodeId recoverer, std::function<bool()> may_act) {
  Reach& reach = cluster_.node(recoverer).remote().reach();
  const std::size_t bytes =
      std::min<std::size_t>(settle_room_bytes(left_.debts()) * (1 + random_.below(4)), BufferPool::kChunkBytes);
  char* const room = reach.buffers.take(BufferPool::kChunkBytes);
  const auto done = settle_all(left_.debts(), settle_parts(reach, {room, bytes}, std::move(may_act)));
  reach.buffers.give_back(room, BufferPool::kChunkBytes);
  if (!done.ok()) return done;
  const std::uint64_t all = done->redone + done->freed + done->settled_before + done->gone;
  if (all != left_.debts().size()) note_wrong(fmt::format("{} of {} debts are counted", all, left_.debts().size()));
  return done;
}

// --- The end ---

void RedoWorld::check() {
  for (unsigned worker = 1; worker < kWorkers; ++worker) {
    cluster_.node(kSecond).remote(worker).finish();
    if (cluster_.node(kSecond).remote(worker).has_left_locks()) return note_wrong("a client has left locks");
  }
  struct Newest {
    record::TidWord tid = 0;
    std::string value{};  ///< empty: the account is closed
  };
  std::map<std::string, Newest> newest;
  for (unsigned node = 0; node < kNodes; ++node) {
    LeftBehind of_node;
    if (node != kDead) {
      of_node.copy(directory_of(node));
      of_node.read();
      if (!of_node.debts().empty()) note_wrong(fmt::format("node {}, which lives, owes something", node));
    }
    (node == kDead ? left_ : of_node).each_write([&](record::TidWord tid, const log::Write& write) {
      Newest& one = newest[std::string(write.key)];
      if (tid > one.tid) one = {tid, std::string(write.value)};
    });
  }
  std::uint64_t money = 0;
  for (const std::string& key : accounts_) {
    money += std::strtoull(newest[key].value.c_str(), nullptr, 10);
    if (!dead_.contains(home_of(key))) check_account(key, newest[key].value);
  }
  if (money != kDeposit * accounts_.size()) note_wrong(fmt::format("the logs have {} in all", money));
}

void RedoWorld::check_account(const std::string& key, const std::string& expected) {
  const rdma::NodeId home = home_of(key);
  const auto found = tables_[home].core()->index().find(key).value;
  if (found != 0 && record::shared_of(*reinterpret_cast<record::Record*>(found)).state() != record::kFree)
    return note_wrong("account " + key + " is locked");
  Transaction t = cluster_.node(home).worker().begin();
  std::string value;
  const Outcome outcome = t.get(tables_[home], key, value);
  if (outcome != Outcome::kOk && outcome != Outcome::kNotFound) return note_wrong("account " + key + " cannot be read");
  if (outcome != Outcome::kOk) value.clear();
  if (value != expected)
    note_wrong(fmt::format("account {} has '{}' in its home's memory and '{}' in the logs", key, value, expected));
}

}  // namespace granary::cluster::test
