#pragma once
// Three nodes, each a process of its own, that move money between them while one after the other is killed and comes
// back.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/local/local_board.h"
#include "tests/node/bank.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"

namespace granary::tests {

/// Of a node; its last key counts what another node has committed.
inline constexpr std::uint64_t kAccounts = kKeys - 1;

/// Where the second one dies, and how the nodes are.
struct BankCase {
  std::string point;
  bool apart = false;   ///< the nodes do not see each other's directories
  bool stands = false;  ///< the first one is stopped instead of killed, and is woken at the point, where nobody dies
  std::string membership = {};  ///< a section of the cluster file; empty: the default one
};

/// The processes of a case share these words, and know only what was acknowledged.
struct BankFlags {
  std::atomic<bool> armed{false}, passed{false}, woken{false}, ending{false};
  std::atomic<unsigned> ended{0};
  std::atomic<NodeNumber> second{0};  ///< who came to the point
  std::atomic<NodeNumber> leaves{0};  ///< who is to end in order
  struct Node {
    std::atomic<std::uint64_t> lives{0};      ///< that have served
    std::atomic<std::uint64_t> committed{0};  ///< transactions of this node with others' records
    std::atomic<std::uint64_t> alone{0};      ///< and with its own alone
    std::atomic<std::uint64_t> counted{0};    ///< the counter's value in the last one that committed
    std::atomic<std::uint64_t> released{
        0};  ///< the counter's value in the last one that was released, or before it left in order
  };
  std::array<Node, kBankNodes + 1> nodes;
};

/// Three nodes that move money between them, and count what they have done at another one.
class BankUnderLoad : public testing::Test {
 protected:
  explicit BankUnderLoad(BankCase test) : case_(std::move(test)) {}
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }

  virtual ClusterOptions options(NodeNumber node) const {
    ClusterOptions options = node_options(file_, node);
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
    options.database.ring_bytes = kSmall;
    options.database.log_segment_bytes = kSmall;
    return options;
  }
  static std::uint64_t counter_of(NodeNumber node) { return first_of(node % kBankNodes + 1) + kAccounts; }

  virtual CrashChild::Body node(NodeNumber id, bool load) {
    return [this, id, load](const CrashChild::Report& report) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it may have mounts and networks, which are to go however the test ends
      base::set_process_sync_hook([this, id](std::string_view point) {
        if (flags_.armed && point == case_.point) at_point(id);
      });
      begins(id, load);
      Status refusal;
      Branch branch(options(id), load, {}, is_started_again_ ? &refusal : nullptr);
      if (testing::Test::HasFailure()) return;
      if (!refusal.ok()) {
        report("refused: " + refusal.message());
        return;
      }
      ++flags_.nodes[id].lives;
      const std::int64_t money = work(branch, id);
      branch.worker.reset();
      const Status left = branch.cluster->leave();
      if (left.ok()) flags_.nodes[id].released = flags_.nodes[id].counted.load();
      report(fmt::format("money {}, left: {}", testing::Test::HasFailure() ? -1 : money, left.message()));
    };
  }
  /// Called in a node's process before it joins.
  virtual void begins(NodeNumber /*id*/, bool /*first_life*/) {}
  /// Dies if nobody has come to the point before; or stands there until the node that stood still goes on, and for a
  /// moment more.
  virtual void at_point(NodeNumber id) {
    const bool first = !flags_.passed.exchange(true);
    if (first) flags_.second = id;
    if (first && !case_.stands) die();
    if (!case_.stands || flags_.woken) return;
    (void)comes_true([this] { return flags_.woken.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  /// Moves money and counts, until the case ends. Returns all money that it finds then.
  std::int64_t work(Branch& branch, NodeNumber id) {
    std::mt19937_64 random(id);
    BankFlags::Node& mine = flags_.nodes[id];
    const std::uint64_t acknowledged = rings_stay_ ? mine.counted : mine.released;
    std::int64_t count = -1;
    bool first = true;
    std::optional<std::pair<Ticket, std::int64_t>> waiting;  ///< for release, of a transaction and what it had counted
    while (!flags_.ending && flags_.leaves != id && branch.cluster->status().ok()) {
      const RunResult alone = branch.worker->run(
          [&](Transaction& t) { touch(branch, t, first_of(id) + random() % kAccounts); }, {.max_attempts = 1});
      if (alone.committed()) ++mine.alone;
      const RunResult done =
          branch.worker->run([&](Transaction& t) { step(branch, t, random, id, count); }, {.max_attempts = 1});
      if (!done.committed()) continue;
      ++mine.committed;
      mine.counted = static_cast<std::uint64_t>(count);
      // Not later, as the counter goes on from whatever it finds.
      if (std::exchange(first, false)) {
        EXPECT_GT(count, static_cast<std::int64_t>(acknowledged)) << "something that was acknowledged is missing";
      }
      if (!waiting) waiting = {done.ticket, count};
      constexpr std::uint64_t kAtOnce_us = 1;
      if (!branch.cluster->database().wait_released(waiting->first, kAtOnce_us).ok()) continue;
      flags_.nodes[id].released = static_cast<std::uint64_t>(waiting->second);
      waiting.reset();
    }
    if (!branch.cluster->status().ok() || flags_.leaves == id) return 0;
    std::int64_t sum = 0;
    const auto add_up = [&](Transaction& t) {
      sum = 0;
      for (NodeNumber home = 1; home <= kBankNodes; ++home) {
        for (std::uint64_t i = 0; i < kAccounts; ++i) sum += t.get(branch.accounts, first_of(home) + i).value_or(0);
      }
    };
    while (!branch.worker->run(add_up).committed()) {
    }
    count = 0;
    while (!branch.worker->run([&](Transaction& t) { count = t.get(branch.accounts, counter_of(id)).value_or(0); })
                .committed()) {
    }
    EXPECT_GE(count, static_cast<std::int64_t>(flags_.nodes[id].released)) << "something that was released is missing";
    ++flags_.ended;
    (void)comes_true([&] { return flags_.ended == kBankNodes; });
    return sum;
  }
  static void touch(Branch& branch, Transaction& t, std::uint64_t account) {
    if (const auto money = t.get(branch.accounts, account)) (void)t.put(branch.accounts, account, *money);
  }
  static void step(Branch& branch, Transaction& t, std::mt19937_64& random, NodeNumber id, std::int64_t& count) {
    const NodeNumber to_node = random() % kBankNodes + 1;
    const std::uint64_t from = first_of(random() % kBankNodes + 1) + random() % kAccounts;
    const std::uint64_t to = first_of(to_node) + random() % kAccounts;
    const auto source = t.get(branch.accounts, from);
    const auto target = t.get(branch.accounts, to);
    const auto counted = t.get(branch.accounts, counter_of(id));
    if (!source || !target || !counted) return;
    if (from != to) {
      (void)t.put(branch.accounts, from, *source - 1);
      (void)t.put(branch.accounts, to, *target + 1);
    }
    count = *counted + 1;
    (void)t.put(branch.accounts, counter_of(id), count);
  }

  membership::Configuration configuration() const {
    const auto board = membership::open_local_board(folder() / "run", 60'000'000).value();
    return membership::configuration_of(board->read()->text).value();
  }
  /// Returns what the configuration says of the node, as it was left.
  membership::Member member(NodeNumber id) const { return *configuration().find(id); }
  std::filesystem::path folder() const { return std::filesystem::path(file_.path()).parent_path(); }

  std::unique_ptr<CrashChild>& child(NodeNumber id) { return children_[id]; }
  void start_all() {
    for (NodeNumber id = 1; id <= kBankNodes; ++id) child(id) = std::make_unique<CrashChild>(node(id, /*load=*/true));
    ASSERT_TRUE(comes_true([&] {
      return std::ranges::all_of(std::array{1, 2, 3}, [&](int id) { return flags_.nodes[id].released > 20; });
    }));
  }
  /// All come to the same sum, and leave in order.
  void end_all() {
    flags_.ending = true;
    const std::string all =
        fmt::format("money {}, left: ", std::int64_t{kBankNodes} * std::int64_t{kAccounts} * kMoney);
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      EXPECT_EQ(child(id)->wait().exit_code, 0) << "node " << id;
      EXPECT_EQ(child(id)->lines(), std::vector<std::string>{all}) << "node " << id;
    }
  }
  void expect_progress_by_all() {
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      const std::uint64_t before = flags_.nodes[id].committed;
      EXPECT_TRUE(comes_true([&] { return flags_.nodes[id].committed > before + 10; }))
          << "node " << id << " commits nothing";
      const std::uint64_t released = flags_.nodes[id].released;
      EXPECT_TRUE(comes_true([&] { return flags_.nodes[id].released > released; }))
          << "nothing of node " << id << " is released";
    }
  }

  const BankCase case_;
  bool is_started_again_ = false;  ///< a node that is refused, as by a supervisor
  bool rings_stay_ = true;         ///< of processes that are killed, so that nothing that they have committed is lost
  ClusterFile file_{kBankNodes, 2,
                    std::string(case_.apart ? "directories = \"apart\"\n" : "") +
                        (case_.stands ? "[membership]\nsession_timeout_ms = 1000\n" : case_.membership),
                    "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  BankFlags& flags_ = map_shared<BankFlags>();
  std::array<std::unique_ptr<CrashChild>, kBankNodes + 1> children_;
};

}  // namespace granary::tests
