// A dead node whose former life the other nodes do not recover, though they see its directory: they have given it up,
// since the volume is not mounted where they run, or they are told to recover nobody. The node then does it itself when
// it is started, and the membership changes three times at most: a visit begins and ends, and the node is back. A node
// that cannot recover its former life either does not join at all.

#include <sched.h>
#include <sys/mount.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank_under_load.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::comes_true;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kDead = 2;
constexpr std::uint64_t kVisitAndReturn = 3;  ///< changes of the membership

/// Whether this process may have mounts of its own.
bool may_mount() {
  CrashChild asked([](const CrashChild::Report& report) {
    report(::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
               ? "may"
               : "may not");
  });
  (void)asked.wait();
  return !asked.lines().empty() && asked.lines()[0] == "may";
}

class GivenUp : public BankUnderLoad {
 protected:
  explicit GivenUp(tests::BankCase test = {}) : BankUnderLoad(std::move(test)) {}

  /// Node 2 is killed. Returns the number of the membership without it.
  std::uint64_t kill_dead() {
    const std::uint64_t before = configuration().number;
    child(kDead)->kill();
    EXPECT_TRUE(comes_true([&] { return configuration().owes(kDead); }));
    EXPECT_EQ(configuration().number, before + 1);
    return configuration().number;
  }
  void start_dead() { child(kDead) = std::make_unique<CrashChild>(node(kDead, /*load=*/false)); }
};

/// The directory of node 2 can be hidden from the nodes 1 and 3 behind an empty file system, each for itself.
class Hidden : public GivenUp {
 protected:
  void SetUp() override {
    GivenUp::SetUp();
    if (!IsSkipped() && !may_mount()) GTEST_SKIP() << "a process without the right to mount";
  }

  CrashChild::Body node(NodeNumber id, bool load) override {
    const CrashChild::Body body = GivenUp::node(id, load);
    if (id == kDead) return body;
    return [this, id, body](const CrashChild::Report& report) {
      ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
      ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
      std::atomic<bool> over{false};
      std::thread mounts([this, id, &over] {
        const std::string place = tests::data_directory(file_, kDead);
        for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
          if (hidden_.wanted[id] == hidden_.done[id]) continue;
          const int changed = hidden_.wanted[id] ? ::mount("none", place.c_str(), "tmpfs", 0, nullptr)
                                                 : ::umount2(place.c_str(), MNT_DETACH);
          if (changed == 0) hidden_.done[id] = !hidden_.done[id];
        }
      });
      body(report);
      over = true;
      mounts.join();
    };
  }
  void hide(NodeNumber from, bool wanted) {
    hidden_.wanted[from] = wanted;
    EXPECT_TRUE(comes_true([&] { return hidden_.done[from] == wanted; }));
  }
  /// Node 2 is killed, and both others have given its recovery up.
  std::uint64_t kill_for_nobody() {
    for (const NodeNumber id : {1, 3}) hide(id, true);
    const std::uint64_t number = kill_dead();
    EXPECT_TRUE(comes_true([&] {
      const auto found = configuration();
      return found.owed.size() == 1 && found.owed[0].declined.size() == 2;
    })) << "they do not give up";
    return number;
  }

 private:
  struct Flags {
    std::array<std::atomic<bool>, kBankNodes + 1> wanted{}, done{};
  };
  Flags& hidden_ = tests::map_shared<Flags>();
};

TEST_F(Hidden, FromAllOthersItRecoversItselfAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  const std::uint64_t number = kill_for_nobody();
  start_dead();
  expect_progress_by_all();
  EXPECT_EQ(flags_.nodes[kDead].lives, 2u);
  EXPECT_EQ(configuration().number, number + kVisitAndReturn);
  end_all();
}

/// Then node 1 may recover it as well, and whoever does it, neither takes the work from the other again and again.
TEST_F(Hidden, NowAndThenTheMembershipDoesNotFlap) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  const std::uint64_t number = kill_for_nobody();
  std::atomic<bool> over{false};
  start_dead();  // before there is a thread in this process
  std::thread toggles([&] {
    for (bool wanted = false; !over; wanted = !wanted) {
      hide(1, wanted);
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  });
  expect_progress_by_all();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  over = true;
  toggles.join();
  EXPECT_EQ(flags_.nodes[kDead].lives, 2u);
  EXPECT_LE(configuration().number, number + kVisitAndReturn);
  end_all();
}

/// Nodes that recover themselves, and nobody else.
class ForThemselves : public GivenUp {
 protected:
  ClusterOptions options(NodeNumber id) const override {
    ClusterOptions options = GivenUp::options(id);
    options.recovers_others = id == kDead;
    return options;
  }
};

TEST_F(ForThemselves, DoNotKeepADeadNodeWaiting) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  const std::uint64_t number = kill_dead();
  start_dead();
  expect_progress_by_all();
  EXPECT_EQ(configuration().number, number + kVisitAndReturn);
  end_all();
}

/// Nodes that do not see each other's directories, as on hosts of their own.
class OfItsOwn : public GivenUp {
 protected:
  OfItsOwn() : GivenUp({.point = {}, .apart = true}) {}

  /// Starts node 2, and returns what the start ends with.
  std::string try_to_start(std::uint32_t start_timeout_ms = 60'000) {
    CrashChild starts([&](const CrashChild::Report& report) {
      ClusterOptions own = options(kDead);
      own.start_timeout_ms = start_timeout_ms;
      const auto joined = Cluster::join(own);
      report(joined.ok() ? "joined" : joined.status().message());
    });
    EXPECT_EQ(starts.wait().exit_code, 0);
    return starts.lines().empty() ? "" : starts.lines()[0];
  }
};

/// A former process that ends late has the directory.
TEST_F(OfItsOwn, DirectoryThatIsInUseANodeNamesTheLifeThatItCannotRecover) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  (void)kill_dead();
  CrashChild former([this](const CrashChild::Report& report) {
    const auto lock =
        base::system_files().lock(fmt::format("{}/{}", tests::data_directory(file_, kDead), recovery::kLockName));
    report("has it" + lock.status().message());
    (void)comes_true([] { return false; });
  });
  ASSERT_TRUE(former.run_until("has it"));
  EXPECT_THAT(try_to_start(1500), testing::HasSubstr("node 2 cannot come back after 1500 ms, since life 1 of node 2 "
                                                     "ended without giving back what it held"));
}

/// A supervisor starts the node again and again.
TEST_F(OfItsOwn, LostRingsKeepTheNodeFromJoiningUntilAllStartTogether) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  const std::uint64_t number = kill_dead();
  ASSERT_GT(std::filesystem::remove_all(tests::manifest_of(file_, kDead).reliable_directory), 1u);
  for (int start = 0; start < 3; ++start) {
    EXPECT_THAT(try_to_start(), testing::AllOf(testing::HasSubstr("node 2 cannot come back, as life 1 of node 2"),
                                               testing::HasSubstr("its log rings are not there"),
                                               testing::HasSubstr("End all nodes of the cluster, then start all")));
  }
  EXPECT_EQ(configuration().number, number) << "the others' transactions abort with each start";
  for (const NodeNumber id : {1, 3}) child(id)->kill();
  rings_stay_ = false;
  for (NodeNumber id = 1; id <= kBankNodes; ++id) child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false));
  expect_progress_by_all();
  end_all();
}

}  // namespace
}  // namespace granary
