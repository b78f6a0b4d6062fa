// A worker ends while it has left a record locked at another node, which is a member and cannot be reached. Its node
// goes on to try, tries once more when it leaves, and takes the worker apart before the rest of the node then. How it
// tries: ending_worker_test.cc.

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/local/heartbeat.h"
#include "cluster_config/membership/local/local_board.h"
#include "tests/node/bank.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using membership::Configuration;
using membership::Heartbeat;
using tests::Branch;
using tests::comes_true;
using tests::CrashChild;
using tests::first_of;

constexpr NodeNumber kNode = 1, kHome = 2;

/// The processes tell each other by this how far they are.
struct Shared {
  std::atomic<bool> home_dies{false};
  std::atomic<pid_t> stand_in{0};  ///< the process that keeps the home's mark
};

class LeftLocked : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }
  ~LeftLocked() override { end_stand_in(); }

  /// Ends the process that stands in for the home, so that the home is dead by its mark, too.
  void end_stand_in() {
    if (const pid_t process = shared_.stand_in.exchange(0); process > 0) ::kill(process, SIGKILL);
  }

  /// Is killed as soon as it is told to. A child of this process stands in for it.
  CrashChild::Body home() {
    return [this](const CrashChild::Report& report) {
      Branch branch(tests::bank_options(file_, kHome));
      Heartbeat heartbeat = Heartbeat::reach(run() + "/membership/node-" + std::to_string(kHome) + ".beat").value();
      report("runs");
      (void)comes_true([this] { return shared_.home_dies.load(); }, std::chrono::minutes(5));
      const pid_t child = ::fork();
      if (child == 0) stand_in(heartbeat);
      shared_.stand_in = child;
      tests::die();
    };
  }
  /// Has nothing of its parent but the mark, and beats as the parent did. So the others take the node for a member that
  /// runs, and nobody answers.
  [[noreturn]] static void stand_in(Heartbeat& heartbeat) {
    constexpr unsigned kMostSeconds = 600;
    constexpr int kMostDescriptors = 4096;
    ::alarm(kMostSeconds);  // whatever becomes of the test
    for (int descriptor = 0; descriptor < kMostDescriptors; ++descriptor) {
      std::array<char, 4096> name{};
      const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
      if (::readlink(link.c_str(), name.data(), name.size() - 1) <= 0) continue;
      if (!std::string_view(name.data()).ends_with(".alive")) ::close(descriptor);
    }
    for (;;) {
      heartbeat.beat();
      ::usleep(1000);
    }
  }

  /// Writes to a record of the home, which dies when the transaction is decided, and ends the worker.
  void leave_locked(Branch& branch) {
    const auto other = branch.cluster->register_worker().value();
    const auto read = [&] {
      return other->run([&](Transaction& t) { (void)t.get(branch.accounts, first_of(kHome) + 1); },
                        {.max_attempts = 1});
    };
    EXPECT_TRUE(comes_true([&] { return read().committed(); })) << "it is connected";
    bool decided = false;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "across.logged" || std::exchange(decided, true)) return;
      shared_.home_dies = true;
      EXPECT_TRUE(comes_true([&] { return read().reason == AbortReason::kNodeUnreachable; }));
    });
    EXPECT_TRUE(
        branch.worker->run([&](Transaction& t) { (void)t.put(branch.accounts, first_of(kHome), 1); }).committed());
    base::set_sync_hook({});
    EXPECT_EQ(branch.cluster->statistics().unfinished, 1u);
    branch.worker.reset();
  }

  std::string run() const { return std::filesystem::path(file_.path()).parent_path() / "run"; }
  /// The newest configuration of the cluster.
  Configuration configuration() const {
    const auto board = membership::open_local_board(run(), /*timeout_us=*/60'000'000).value();
    return membership::configuration_of(board->read().value().text).value();
  }

  const tests::ClusterFile file_{2};
  Shared& shared_ = tests::map_shared<Shared>();
};

TEST_F(LeftLocked, IsGivenBackByAThreadOfTheNode) {
  CrashChild home(this->home());
  CrashChild node([this](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file_, kNode));
    report("runs");
    leave_locked(branch);
    const auto first = branch.cluster->register_worker().value();
    EXPECT_EQ(branch.cluster->register_worker().status().code(), StatusCode::kResourceExhausted)
        << "the locks carry the other number";
    report("kept");
    EXPECT_TRUE(comes_true([&] { return branch.cluster->register_worker().ok(); }));
  });
  for (CrashChild* const child : {&home, &node}) ASSERT_TRUE(child->run_until("runs"));
  ASSERT_TRUE(node.run_until("kept"));
  end_stand_in();
  EXPECT_EQ(node.wait().exit_code, 0);
}

/// The home dies when only the node that leaves still tries. A home that can be reached again by then would do as well.
TEST_F(LeftLocked, IsGivenBackByANodeThatLeaves) {
  CrashChild home(this->home());
  CrashChild node([this](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file_, kNode));
    report("runs");
    leave_locked(branch);
    base::set_sync_hook([&](std::string_view point) {
      if (point != "cluster.gives_back_at_last") return;
      end_stand_in();
      const auto is_dead = [&] {
        const Configuration now = configuration();
        return !now.lives(kHome) && branch.cluster->configuration() >= now.version;
      };
      EXPECT_TRUE(comes_true(is_dead));
    });
    const Status left = branch.cluster->leave();
    EXPECT_TRUE(left.ok()) << left.message();
    EXPECT_EQ(configuration().find(kNode)->state, membership::MemberState::kLeft) << "it owes nothing";
  });
  for (CrashChild* const child : {&home, &node}) ASSERT_TRUE(child->run_until("runs"));
  EXPECT_EQ(node.wait().exit_code, 0);
}

TEST_F(LeftLocked, EndsWithItsNode) {
  CrashChild home(this->home());
  CrashChild node([this](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file_, kNode));
    report("runs");
    leave_locked(branch);
    const Status left = branch.cluster->leave();
    EXPECT_TRUE(left.ok()) << left.message();
    branch.cluster.reset();
    report("ended");
  });
  for (CrashChild* const child : {&home, &node}) ASSERT_TRUE(child->run_until("runs"));
  EXPECT_EQ(node.wait().exit_code, 0);
  EXPECT_EQ(node.lines().back(), "ended");
}

}  // namespace
}  // namespace granary
