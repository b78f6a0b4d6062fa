// Simulated HTM regions of one process and one-sided operations of another one, over shared memory: what such an
// operation stores aborts the regions that have used its line, and none comes between the stores of a region that
// commits. Processes are killed while they hold a line. Whole nodes with simulated regions: tests/node.

#include <array>
#include <chrono>
#include <functional>

#include "htm/simulator.h"
#include "rdma/shm/watched_memory.h"
#include "src/base/shared_words.h"
#include "tests/rdma/shm/two_nodes.h"
#include "tests/support/crash_child.h"

namespace granary::rdma::shm {
namespace {

namespace lines = base::lines;
using htm::Attempt;
using htm::Cause;
using htm::Simulator;
using htm::Verdict;
using tests::CrashChild;

constexpr NodeId kOwnerNode = 1;
constexpr NodeId kOther = 2;

// Words of the owner's region, each in a line of its own, and a run of some lines.
constexpr std::size_t kTurn = 0, kDone = 8, kUsed = 16, kElsewhere = 24, kRun = 32;
constexpr std::size_t kRunLines = 4, kRunWords = 8 * kRunLines;

RemoteAddress at(std::size_t word) {
  return {.node = kOwnerNode, .region = 1, .generation = 1, .offset = word * sizeof(std::uint64_t)};
}

/// True once `there` holds, false if that takes too long.
template <typename Condition>
bool comes_true(Condition&& there) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!there()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(100);
  }
  return true;
}

class WatchedMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  }

  /// What another process does to the owner. It is forked first, when the owner has no threads yet.
  using Act = std::function<void(ShmNode& node, ShmWorker& worker, const CrashChild::Report& report)>;
  CrashChild other_process(const Act& act) {
    return CrashChild([this, act](const CrashChild::Report& report) {
      ShmNode node(kOther, directory_.path());
      ShmWorker worker(node, kOwnerNode);
      act(node, worker, report);
    });
  }
  /// Does one operation each time that the owner says go.
  static Act one_at_each_go(const std::vector<std::function<Operation(ShmNode&)>>& operations) {
    return [operations](ShmNode& node, ShmWorker& worker, const CrashChild::Report&) {
      for (std::uint64_t turn = 1; turn <= operations.size(); ++turn) {
        const Operation look = Operation::read(node.word(0), at(kTurn), 8);
        while (*node.word(0) != turn) worker.run({&look, 1});
        *node.word(8) = turn;
        const Operation chain[] = {operations[turn - 1](node), Operation::write(at(kDone), node.word(8), 8)};
        worker.run(chain);
      }
    };
  }
  /// A region of the owner that loads a word; then the other process takes its next turn.
  static Attempt region_around_turn(ShmNode& owner, Simulator& simulator) {
    auto body = [&](Simulator& memory) {
      (void)memory.load(owner.word(kUsed));
      const base::RegionPause others_do_this;
      const std::uint64_t turn = base::load_word(owner.word(kTurn)) + 1;
      base::store_word(owner.word(kTurn), turn);
      EXPECT_TRUE(comes_true([&] { return base::load_word(owner.word(kDone)) == turn; }));
      return Verdict::done();
    };
    return simulator.attempt(body);
  }

  const tests::TemporaryDirectory directory_;
  const lines::Watch watch_;
  Simulator simulator_{{}, 0};
};

TEST_F(WatchedMemory, AStoreOfAnotherProcessAbortsTheRegionThatHasReadItsLine) {
  constexpr std::size_t kSameLine = kUsed + 7;
  const CrashChild other = other_process(
      one_at_each_go({[](ShmNode& node) { return Operation::write(at(kSameLine), node.word(16), 8); },
                      [](ShmNode& node) { return Operation::compare_swap(at(kUsed), 0, 5, node.word(16)); },
                      [](ShmNode& node) { return Operation::fetch_add(at(kUsed), 1, node.word(16)); },
                      [](ShmNode& node) { return Operation::read(node.word(16), at(kUsed), 8); },
                      [](ShmNode& node) { return Operation::fetch_add(at(kElsewhere), 1, node.word(16)); }}));
  ShmNode owner(kOwnerNode, directory_.path());
  for (const char* const operation : {"WRITE", "compare-and-swap", "fetch-and-add"}) {
    const Attempt tried = region_around_turn(owner, simulator_);
    EXPECT_FALSE(tried.committed) << operation;
    EXPECT_EQ(tried.cause, Cause::kConflict) << operation;
  }
  EXPECT_EQ(base::load_word(owner.word(kUsed)), 6u);
  EXPECT_TRUE(region_around_turn(owner, simulator_).committed) << "a READ";
  EXPECT_TRUE(region_around_turn(owner, simulator_).committed) << "another line";
}

TEST_F(WatchedMemory, AReadOfAnotherProcessNeverSeesTheFirstStoresOfARegionWithoutTheRest) {
  constexpr std::uint64_t kRounds = 100;
  CrashChild other = other_process([](ShmNode& node, ShmWorker& worker, const CrashChild::Report& report) {
    const Operation read = Operation::read(node.word(0), at(kRun), kRunWords * 8);
    *node.word(kRunWords) = 1;
    const Operation done = Operation::write(at(kDone), node.word(kRunWords), 8);
    std::uint64_t changes = 0, wrong = 0;
    for (std::uint64_t before = 0; changes <= kRounds / 10 || before < kRounds; before = *node.word(0)) {
      worker.run({&read, 1});
      for (std::size_t i = 1; i < kRunWords; ++i) wrong += *node.word(i) < *node.word(i - 1) ? 1 : 0;
      changes += *node.word(0) != before ? 1 : 0;
    }
    worker.run({&done, 1});
    report(wrong == 0 ? "whole" : "half");
  });
  ShmNode owner(kOwnerNode, directory_.path());
  std::uint64_t stores = 0;
  base::set_sync_hook([&](std::string_view point) {  // lets the other one look in the midst of a commit
    if (point == "region.storing" && ++stores % kRunWords == kRunWords / 2) ::usleep(500);
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::uint64_t round = 0;
  while (base::load_word(owner.word(kDone)) == 0 && std::chrono::steady_clock::now() < end) {
    ++round;
    auto body = [&](Simulator& memory) {
      for (std::size_t i = 0; i < kRunWords; ++i) memory.store(owner.word(kRun + i), round);
      return Verdict::done();
    };
    EXPECT_TRUE(simulator_.attempt(body).committed);
    ::usleep(500);
  }
  base::set_sync_hook({});
  (void)other.wait();
  EXPECT_EQ(other.lines(), (std::vector<std::string>{"whole"}));
}

TEST_F(WatchedMemory, AStoreOfAnotherProcessWaitsForARegionThatCommits) {
  const CrashChild other =
      other_process(one_at_each_go({[](ShmNode& node) { return Operation::fetch_add(at(kRun), 1, node.word(16)); }}));
  ShmNode owner(kOwnerNode, directory_.path());
  std::uint64_t stores = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (point != "region.storing" || ++stores != 1) return;
    base::store_word(owner.word(kTurn), 1);
    ::usleep(20'000);
    EXPECT_EQ(base::load_word(owner.word(kDone)), 0u);
  });
  auto body = [&](Simulator& memory) {
    for (const std::size_t word : {kElsewhere, kRun}) memory.store(owner.word(word), 10);
    return Verdict::done();
  };
  EXPECT_TRUE(simulator_.attempt(body).committed);
  base::set_sync_hook({});
  EXPECT_TRUE(comes_true([&] { return base::load_word(owner.word(kDone)) == 1; }));
  EXPECT_EQ(base::load_word(owner.word(kRun)), 11u) << "it was added before the region's store";
}

TEST_F(WatchedMemory, AProcessThatIsKilledWhileItHoldsALineKeepsNobodyWaiting) {
  CrashChild other = other_process([](ShmNode& node, ShmWorker& worker, const CrashChild::Report&) {
    const Operation look = Operation::read(node.word(0), at(kTurn), 8);
    while (*node.word(0) == 0) worker.run({&look, 1});
    base::set_sync_hook(tests::die_at("shm.line_locked"));
    const Operation write = Operation::write(at(kUsed), node.word(16), 8);
    worker.run({&write, 1});
  });
  ShmNode owner(kOwnerNode, directory_.path());
  const lines::Entry& entry = lines::entry_of(owner.word(kUsed));
  const std::uint64_t before = entry.load();
  auto body = [&](Simulator& memory) {
    (void)memory.load(owner.word(kUsed));
    const base::RegionPause others_do_this;
    base::store_word(owner.word(kTurn), 1);
    EXPECT_TRUE(other.wait().killed);
    EXPECT_TRUE(comes_true([&] { return !lines::is_locked(entry); }));
    return Verdict::done();
  };
  EXPECT_EQ(simulator_.attempt(body).cause, Cause::kConflict);
  ASSERT_EQ(entry.load(), before + lines::kOneChange) << "one would wait for it for ever";
  base::store_word(owner.word(kUsed), 3);
  ShmNode again(kOther, directory_.path());
  ShmWorker worker(again, kOwnerNode);
  const Operation add = Operation::fetch_add(at(kUsed), 1, again.word(0));
  worker.run({&add, 1});
  EXPECT_EQ(base::load_word(owner.word(kUsed)), 4u);
}

TEST_F(WatchedMemory, AnOwnerThatIsKilledWhileItsRegionCommitsKeepsNobodyWaiting) {
  CrashChild owner([&](const CrashChild::Report& report) {
    ShmNode node(kOwnerNode, directory_.path());
    auto body = [&](Simulator& memory) {
      memory.store(node.word(kUsed), 1);
      return Verdict::done();
    };
    report("up");
    if (!comes_true([&] { return base::load_word(node.word(kTurn)) == 1; })) return;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "region.storing") return;
      report("commits");
      ::usleep(50'000);  // the other one waits for the line
      ::kill(::getpid(), SIGKILL);
    });
    while (!simulator_.attempt(body).committed) {  // the other one stores to the line meanwhile
    }
  });
  CrashChild other = other_process([](ShmNode& node, ShmWorker& worker, const CrashChild::Report& report) {
    *node.word(8) = 1;
    const Operation go = Operation::write(at(kTurn), node.word(8), 8);
    worker.run({&go, 1});
    const Operation look = Operation::read(node.word(0), at(kUsed), 8);
    const Operation add = Operation::fetch_add(at(kUsed), 1, node.word(16));
    Completion done;
    while (worker.endpoint->post(worker.connection, {&look, 1}, Signal::kYes, 0) == PostResult::kPosted) {
      (void)worker.endpoint->poll({&done, 1});
      (void)worker.endpoint->post(worker.connection, {&add, 1}, Signal::kYes, 0);
      (void)worker.endpoint->poll({&done, 1});
    }
    report("broken");
  });
  EXPECT_TRUE(owner.run_until("commits"));
  EXPECT_TRUE(other.run_until_beginning("broken", std::chrono::seconds(10)));
  EXPECT_TRUE(owner.wait().killed);
}

TEST_F(WatchedMemory, NodesOfOneProcessMeetInTheSameEntries) {
  ShmNode owner(kOwnerNode, directory_.path());
  ShmNode there(kOther, directory_.path());
  ShmWorker from_other(there, kOwnerNode);
  ShmWorker from_itself(owner, kOwnerNode);
  const Operation add = Operation::fetch_add(at(kUsed), 1, there.word(0));
  const Operation add_own = Operation::fetch_add(at(kUsed), 1, owner.word(kElsewhere));
  for (auto& [worker, operation] : {std::pair(&from_other, &add), std::pair(&from_itself, &add_own)}) {
    auto body = [&](Simulator& memory) {
      (void)memory.load(owner.word(kUsed));
      const base::RegionPause others_do_this;
      worker->run({operation, 1});
      return Verdict::done();
    };
    EXPECT_EQ(simulator_.attempt(body).cause, Cause::kConflict);
  }
  EXPECT_EQ(base::load_word(owner.word(kUsed)), 2u);
}

TEST_F(WatchedMemory, TheChildOfAForkHasATableOfItsOwn) {
  std::uint64_t word = 0;
  lines::Entry& entry = lines::entry_of(&word);
  const std::uint64_t locked = lines::lock(entry);
  CrashChild child([&](const CrashChild::Report& report) {
    base::store_word(&word, 1);
    report("stored");
  });
  EXPECT_TRUE(child.run_until_beginning("stored", std::chrono::seconds(10)));
  EXPECT_EQ(entry.load(), locked);
  lines::unlock(entry, locked);
}

TEST_F(WatchedMemory, OnlyTheLocksOfTheDeadAreBroken) {
  lines::Table& table = lines::own();
  const lines::Holder dead = holder_of(kOther, 7), next_life = holder_of(kOther, 8), last = holder_of(0xffff, 255);
  EXPECT_NE(holder_of(0, 0), lines::kOwner);
  std::array<lines::Entry*, 4> entries;
  std::array<std::uint64_t, 4> locked;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = &table.entry_of(64 * i);
    locked[i] = lines::try_lock(*entries[i], std::array{dead, next_life, last, lines::kOwner}[i]);
    EXPECT_EQ(lines::try_lock(*entries[i], dead), 0u) << "taken already";
  }
  table.break_locks(dead);
  EXPECT_FALSE(lines::is_locked(*entries[0]));
  for (std::size_t i = 1; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i]->load(), locked[i]);
    lines::unlock(*entries[i], locked[i]);
  }
}

}  // namespace
}  // namespace granary::rdma::shm
