// A node as a process of its own that stands still for longer than the membership waits for it, which removes it: the
// others go on without, as fast as before, and it does nothing any more when it goes on.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::comes_true;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;

/// Shared memory by which the node that is stopped, the one that stays, the one that only watches, and the test tell
/// each other how far they are.
struct Removal {
  /// By node, of transactions on its own accounts alone.
  std::array<std::atomic<std::uint64_t>, kBankNodes + 1> commits{};
  std::atomic<std::uint64_t> spent{0};  ///< by node 2 on these: nanoseconds
  std::atomic<std::uint64_t> alone{0};  ///< commits of node 2 in a database that belongs to no cluster
  std::atomic<std::uint64_t> spent_alone{0};
  std::atomic<std::uint64_t> late{0};     ///< of those, begun by a node that was removed
  std::atomic<bool> rests{false};         ///< node 1 runs and writes nothing
  std::atomic<bool> told_removed{false};  ///< node 3 has heard that node 1 is dead
  std::atomic<bool> removed{false};       ///< the others count node 1 as dead
  std::atomic<bool> enough{false};
};

/// Writes to its own accounts alone, so often, and tells how many commits that were.
std::uint64_t write_here(Branch& branch, std::uint64_t times) {
  std::uint64_t commits = 0;
  for (std::uint64_t turn = 0; turn < times; ++turn)
    commits += branch.worker
                   ->run([&](Transaction& t) { (void)t.put(branch.accounts, first_of(branch.cluster->node()), turn); },
                         {.max_attempts = 5})
                   .committed();
  return commits;
}

/// Node 1 writes until it may not.
void write_until_removed(Branch& branch, Removal& shared) {
  while (!shared.enough && branch.cluster->status().ok()) {
    if (shared.rests) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    const bool removed = shared.removed;
    if (write_here(branch, 1) == 0) continue;
    ++shared.commits[1];
    if (removed) ++shared.late;
  }
}

/// An account in a database of one process, on whose speed neither the cluster nor its nodes have any influence.
class LoneAccount {
 public:
  std::uint64_t write(std::uint64_t times) {
    std::uint64_t commits = 0;
    for (std::uint64_t turn = 0; turn < times; ++turn)
      commits += worker_.run([&](Transaction& t) { (void)t.put(accounts_, 1, turn); }, {.max_attempts = 5}).committed();
    return commits;
  }

 private:
  std::unique_ptr<Database> database_ = Database::open({.snapshots = false}).value();
  tests::Accounts accounts_ =
      database_->create_table<std::uint64_t, std::int64_t>("accounts", {.index = IndexKind::kHash}).value();
  Worker worker_ = database_->register_worker().value();
};

/// Nanoseconds in which the calling thread ran or waited for something, but not those in which it could have run and
/// others had the processor.
class OwnTime {
 public:
  ~OwnTime() { ::close(file_); }
  std::uint64_t now() const {
    std::array<char, 128> text{};
    std::uint64_t ran = 0, queued = 0;
    if (::pread(file_, text.data(), text.size() - 1, 0) > 0) (void)std::sscanf(text.data(), "%lu %lu", &ran, &queued);
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(time / std::chrono::nanoseconds(1)) - queued;
  }

 private:
  int file_ = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
};

/// Node 2 writes until it is enough: some transactions in the cluster and as many outside, in turn.
void write_here_and_alone(Branch& branch, Removal& shared) {
  constexpr std::uint64_t kTimes = 200;
  LoneAccount lone;
  const OwnTime time;
  const auto count = [&](auto&& write, std::atomic<std::uint64_t>& commits, std::atomic<std::uint64_t>& spent) {
    const std::uint64_t begin = time.now();
    commits += write();
    spent += time.now() - begin;
  };
  while (!shared.enough && branch.cluster->status().ok()) {
    count([&] { return write_here(branch, kTimes); }, shared.commits[2], shared.spent);
    count([&] { return lone.write(kTimes); }, shared.alone, shared.spent_alone);
  }
}

/// Tells what node 2 commits in a window of time for each million commits that it could have made alone in that time.
/// How fast the machine is changes within milliseconds where others use it, too, and this does not. The median of some
/// windows leaves out those that met something else.
class Windows {
 public:
  explicit Windows(const Removal& shared) : shared_(shared) {}
  std::uint64_t one() const {
    constexpr auto kWindow = std::chrono::milliseconds(60);
    const Sums before = now();
    std::this_thread::sleep_for(kWindow);
    const Sums after = after_enough(before);
    const double rate = (after.commits - before.commits) / (after.spent - before.spent);
    const double alone = (after.alone - before.alone) / (after.spent_alone - before.spent_alone);
    return after.commits == before.commits || after.alone == before.alone
               ? 0
               : static_cast<std::uint64_t>(rate / alone * 1e6);
  }
  std::uint64_t median_in(std::chrono::milliseconds time) const {
    std::vector<std::uint64_t> all;
    for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;)
      all.push_back(one());
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

 private:
  struct Sums {
    double commits, spent, alone, spent_alone;
  };
  Sums now() const {
    return {static_cast<double>(shared_.commits[2]), static_cast<double>(shared_.spent),
            static_cast<double>(shared_.alone), static_cast<double>(shared_.spent_alone)};
  }

  /// On a busy machine a window may be too short for both; a node that waits for another one commits nothing in a
  /// longer one, either.
  Sums after_enough(const Sums& before) const {
    constexpr double kEnough = 1000;
    Sums after = now();
    const auto enough = [&] {
      after = now();
      return after.commits - before.commits > kEnough && after.alone - before.alone > kEnough;
    };
    (void)tests::comes_true(enough, std::chrono::seconds(1));
    return after;
  }

  const Removal& shared_;
};

/// Whether it commits nine tenths of what it commits while the other node runs and has nothing to do.
bool keeps_its_rate(std::uint64_t now, std::uint64_t usual) { return now * 10 >= usual * 9; }

/// Options of a node that does not recover others, so that what a death means for results stays to be seen.
ClusterOptions lone_options(const ClusterFile& file, NodeNumber node) {
  ClusterOptions options = tests::bank_options(file, node);
  options.recovers_others = false;
  return options;
}

/// Node 3 writes nothing, and tells when it hears that node 1 is dead.
CrashChild::Body watcher(const ClusterFile& file, Removal& shared) {
  return [&](const CrashChild::Report& report) {
    Branch branch(lone_options(file, 3));
    report("runs");
    while (!shared.enough) {
      if (branch.cluster->release_status().message().find("has been dead") != std::string::npos)
        shared.told_removed = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
}

/// Node 2 writes, then waits in vain for its last result, and leaves.
CrashChild::Body writer(const ClusterFile& file, Removal& shared) {
  return [&](const CrashChild::Report& report) {
    Branch branch(lone_options(file, 2));
    report("runs");
    write_here_and_alone(branch, shared);
    const RunResult last = branch.worker->run([&](Transaction& t) { (void)t.put(branch.accounts, first_of(2), 1); });
    report(branch.cluster->database().wait_released(last.ticket, 300'000).message());
    report(branch.cluster->release_status().message());
    branch.worker.reset();
    report(branch.cluster->leave().ok() ? "leaves" : "does not leave");
  };
}

/// Node 1, which leads, stands still, is removed, and goes on. The accounts of node 2 are written all the time.
TEST(ClusterRemoval, OfAStoppedNodeLetsTheOthersWriteAndEndsIt) {
  const ClusterFile file(kBankNodes, 2, "[membership]\nsession_timeout_ms = 3000\n",
                         "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  auto& shared = tests::map_shared<Removal>();
  CrashChild victim([&](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file, 1));
    report("runs");
    write_until_removed(branch, shared);
  });
  CrashChild idle(watcher(file, shared));
  CrashChild stays(writer(file, shared));
  for (CrashChild* const child : {&victim, &idle, &stays}) ASSERT_TRUE(child->run_until("runs"));
  ASSERT_TRUE(comes_true([&] { return shared.commits[1] > 0 && shared.commits[2] > 0; }));
  shared.rests = true;
  const Windows windows(shared);
  std::uint64_t usual = 0, stopped = 0;
  for (unsigned turn = 0; turn < 8 && (turn == 0 || !keeps_its_rate(stopped, usual)); ++turn) {
    usual = windows.median_in(std::chrono::milliseconds(800));
    victim.signal(SIGSTOP);
    ASSERT_TRUE(victim.wait_until_stopped());
    (void)windows.median_in(std::chrono::milliseconds(600));  // what has been begun before may last so long
    stopped = windows.median_in(std::chrono::milliseconds(600));
    victim.signal(SIGCONT);
  }
  EXPECT_TRUE(keeps_its_rate(stopped, usual))
      << stopped << " for a million alone with a stopped node, " << usual << " with an idle one";
  victim.signal(SIGSTOP);
  ASSERT_TRUE(victim.wait_until_stopped());
  ASSERT_TRUE(comes_true([&] { return shared.told_removed.load(); }));
  std::uint64_t without = 0;
  for (unsigned turn = 0; turn < 16 && !keeps_its_rate(without, usual); ++turn)
    without = std::max(without, windows.median_in(std::chrono::milliseconds(600)));
  EXPECT_TRUE(keeps_its_rate(without, usual))
      << without << " for a million alone without the node, " << usual << " with an idle one";
  shared.rests = false;
  shared.removed = true;
  victim.signal(SIGCONT);
  EXPECT_TRUE(victim.wait().killed) << "by the others, before anybody acts for it";
  EXPECT_EQ(shared.late, 0u) << "it began no commit when it went on";
  shared.enough = true;
  EXPECT_EQ(stays.wait().exit_code, 0);
  ASSERT_EQ(stays.lines().size(), 4u);
  EXPECT_THAT(stays.lines()[1], testing::HasSubstr("node 1 (generation 1) has been dead for"));
  EXPECT_THAT(stays.lines()[2], testing::HasSubstr("node 1 (generation 1) has been dead for"));
  EXPECT_EQ(stays.lines()[3], "leaves");
}

}  // namespace
}  // namespace granary
