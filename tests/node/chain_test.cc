// Calls of chains whose second piece needs a node that is dead: they are half done, and finished in the background when
// it is back, without any call, also if the node that ran them has died, too.

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"
#include "tests/support/thread_time.h"

namespace granary {
namespace {

using testing::ElementsAre;
using tests::Branch;
using tests::ClusterFile;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;
using tests::kMoney;

constexpr NodeNumber kCaller = 1, kAway = 2, kOther = 3;
constexpr std::int64_t kMoved = 7;

struct Move {
  std::uint64_t from, to;
};
struct Moved {
  std::int64_t amount = 0;
};

/// What the processes of a case share.
struct Flags {
  // What the parent tells the children, and the caller all.
  std::atomic<bool> calls{false}, dies{false}, ending{false}, away_is_dead{false};
  std::atomic<unsigned> ended{0};
};

class ClusterChains : public testing::Test {
 protected:
  /// A node whose chain takes from an account, and then adds to another one.
  struct Node {
    Node(const ClusterOptions& options, bool load, Flags& flags)
        : branch(options, load, [this, &flags](Branch& unstarted) { add_chain(unstarted, flags); }) {}

    void add_chain(Branch& unstarted, Flags& flags) {
      const auto add = [&unstarted](Transaction& t, std::uint64_t account, std::int64_t amount) {
        const auto found = t.get(unstarted.accounts, account);
        if (found) (void)t.put(unstarted.accounts, account, *found + amount);
      };
      const auto take = [add](Transaction& t, const Move& asked, Moved& moved) {
        moved.amount = kMoved;
        add(t, asked.from, -kMoved);
      };
      const auto give = [add, &flags](Transaction& t, const Move& asked, Moved& moved) {
        if (flags.dies.exchange(false)) tests::die();
        add(t, asked.to, moved.amount);
      };
      const DeclaredAccesses adds{{"accounts", AccessMode::kAdd}};
      move = unstarted.cluster->procedures()
                 .add_chain<Move, Moved>("move", {{.accesses = adds, .body = take}, {.accesses = adds, .body = give}})
                 .value();
    }
    Result<std::size_t> keep_chains() {
      return branch.cluster->procedures().keep_chains(branch.cluster->database(), branch.worker->worker());
    }
    std::size_t calls_left() const { return branch.cluster->procedures().calls_left(); }
    bool reaches(std::uint64_t account) {
      const auto look = [&](Transaction& t) { (void)t.get(branch.accounts, account); };
      return branch.worker->run(look, {.max_attempts = 1}).committed();
    }
    std::int64_t balance(std::uint64_t account) {
      std::int64_t found = 0;
      while (!branch.worker->run([&](Transaction& t) { found = t.get(branch.accounts, account).value_or(0); })
                  .committed()) {
      }
      return found;
    }

    Procedures::Handle<Move, Moved> move;
    Branch branch;
  };

  ClusterOptions options(NodeNumber node) const {
    ClusterOptions options = tests::node_options(file_, node);
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
    options.database.ring_bytes = kSmall;
    options.database.log_segment_bytes = kSmall;
    return options;
  }
  /// A node that serves, and calls nothing.
  CrashChild::Body bystander(NodeNumber id, bool load) {
    return [this, id, load](const CrashChild::Report& report) {
      Node node(options(id), load, flags_);
      if (testing::Test::HasFailure()) return;
      report(fmt::format("finished {}", node.keep_chains().value()));
      (void)tests::comes_true([&] { return flags_.ending.load(); });
      end(node, report);
    };
  }
  /// The node that calls, when it is told to.
  CrashChild::Body caller() {
    return [this](const CrashChild::Report& report) {
      Node node(options(kCaller), /*load=*/true, flags_);
      report(fmt::format("finished {}", node.keep_chains().value()));
      (void)tests::comes_true([&] { return flags_.calls.load(); });
      // Until its death is noticed here, the memory of a killed node can be reached, and the call would succeed.
      (void)tests::comes_true([&] { return !flags_.away_is_dead || !node.reaches(first_of(kAway)); });
      Moved moved;
      const Move asked{.from = first_of(kCaller), .to = first_of(kAway)};
      const double began = tests::thread_seconds();
      const RunResult half =
          node.branch.cluster->procedures().call(node.branch.worker->worker(), node.move, asked, moved);
      const bool slept = tests::thread_seconds() - began < 5;  // of the ten seconds for which it was tried again
      report(fmt::format("{}, pieces left: {}, {}", name(half.reason), half.pieces_left, slept ? "slept" : "spun"));
      see_it_finished(node, report);
    };
  }
  CrashChild::Body next_life_of_caller() {
    return [this](const CrashChild::Report& report) {
      Node node(options(kCaller), /*load=*/false, flags_);
      if (testing::Test::HasFailure()) return;
      report(fmt::format("finished {}", node.keep_chains().value()));
      see_it_finished(node, report);
    };
  }
  /// This thread only waits.
  void see_it_finished(Node& node, const CrashChild::Report& report) {
    report(fmt::format("left {}", node.calls_left()));
    (void)tests::comes_true([&] { return node.calls_left() == 0; });
    report(fmt::format("left {}, {} and {}", node.calls_left(), node.balance(first_of(kCaller)) - kMoney,
                       node.balance(first_of(kAway)) - kMoney));
    flags_.ending = true;
    end(node, report);
  }
  void end(Node& node, const CrashChild::Report& report) {
    report(fmt::format("sum {}", node.branch.total() - kBankNodes * std::int64_t{tests::kKeys} * kMoney));
    ++flags_.ended;
    (void)tests::comes_true([&] { return flags_.ended == kBankNodes; });
    node.branch.worker.reset();
    report("left: " + node.branch.cluster->leave().message());
  }

  ClusterFile file_{kBankNodes, 2, {}, "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  Flags& flags_ = tests::map_shared<Flags>();
};

TEST_F(ClusterChains, ACallThatNeedsADeadNodeIsFinishedWhenItIsBack) {
  CrashChild calling(caller());
  CrashChild away(bystander(kAway, /*load=*/true));
  CrashChild other(bystander(kOther, /*load=*/true));
  for (CrashChild* const child : {&calling, &away, &other}) ASSERT_TRUE(child->run_until("finished 0"));
  away.signal(SIGKILL);
  ASSERT_TRUE(away.wait().killed);
  flags_.away_is_dead = true;
  flags_.calls = true;
  ASSERT_TRUE(calling.run_until("left 1")) << testing::PrintToString(calling.lines());
  CrashChild back(bystander(kAway, /*load=*/false));
  for (CrashChild* const child : {&calling, &back, &other}) EXPECT_EQ(child->wait().exit_code, 0);
  EXPECT_THAT(calling.lines(), ElementsAre("finished 0", "node_unreachable, pieces left: 1, slept", "left 1",
                                           "left 0, -7 and 7", "sum 0", "left: "));
  for (CrashChild* const child : {&back, &other})
    EXPECT_THAT(child->lines(), ElementsAre("finished 0", "sum 0", "left: "));
}

/// The caller is back first, and starts although its call cannot be finished yet.
TEST_F(ClusterChains, ACallWhoseCallerDiedIsFinishedWhenAllAreBack) {
  flags_.dies = true;
  CrashChild calling(caller());
  CrashChild away(bystander(kAway, /*load=*/true));
  CrashChild other(bystander(kOther, /*load=*/true));
  for (CrashChild* const child : {&calling, &away, &other}) ASSERT_TRUE(child->run_until("finished 0"));
  away.signal(SIGKILL);
  ASSERT_TRUE(away.wait().killed);
  flags_.away_is_dead = true;
  flags_.calls = true;
  ASSERT_TRUE(calling.wait().killed);
  CrashChild again(next_life_of_caller());
  ASSERT_TRUE(again.run_until("left 1"));
  CrashChild back(bystander(kAway, /*load=*/false));
  for (CrashChild* const child : {&again, &back, &other}) EXPECT_EQ(child->wait().exit_code, 0);
  EXPECT_THAT(again.lines(), ElementsAre("finished 0", "left 1", "left 0, -7 and 7", "sum 0", "left: "));
  for (CrashChild* const child : {&back, &other})
    EXPECT_THAT(child->lines(), ElementsAre("finished 0", "sum 0", "left: "));
}

/// Nobody is away when the caller comes back, so it finishes the call before it goes on.
TEST_F(ClusterChains, ACallWhoseCallerDiedIsFinishedWhenItIsBack) {
  flags_.dies = true;
  CrashChild calling(caller());
  CrashChild second(bystander(kAway, /*load=*/true));
  CrashChild other(bystander(kOther, /*load=*/true));
  for (CrashChild* const child : {&calling, &second, &other}) ASSERT_TRUE(child->run_until("finished 0"));
  flags_.calls = true;
  ASSERT_TRUE(calling.wait().killed);
  CrashChild again(next_life_of_caller());
  for (CrashChild* const child : {&again, &second, &other}) EXPECT_EQ(child->wait().exit_code, 0);
  EXPECT_THAT(again.lines(), ElementsAre("finished 1", "left 0", "left 0, -7 and 7", "sum 0", "left: "));
}

}  // namespace
}  // namespace granary
