// File systems of a cluster that have no room left: that of a node's data, which its recoverer meets as well; that of a
// node's log rings; and that of the run directory, when a node dies and the others have to say so. Each time whoever
// cannot go on says why, everything else goes on, and when there is room again all comes back without anybody's help,
// with all that was released.
//
// The file systems are in memory (tests/crash/disks.h); there has to be root, or user namespaces.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crash/disks.h"
#include "tests/node/bank_under_load.h"
#include "tests/support/mount_namespace.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::Branch;
using tests::CrashChild;
using tests::kBankNodes;

/// Its disk is full, or it dies while another one is.
constexpr NodeNumber kVictim = 2;
/// Its transactions do without the victim.
constexpr NodeNumber kNeedsItNot = 3;
constexpr std::uint64_t kRoom = std::uint64_t{1} << 30;
constexpr auto kSoon = std::chrono::seconds(20);

class FullDisk : public BankUnderLoad {
 protected:
  FullDisk() : BankUnderLoad({}) {}
  void SetUp() override {
    BankUnderLoad::SetUp();
    if (IsSkipped()) return;
    if (const std::string why = tests::enter_mount_namespace(); !why.empty()) GTEST_SKIP() << why;
  }
  /// Puts a file system of its own at this place of the cluster.
  void mount(const std::string& place) {
    path_ = folder() / place;
    disk_ = std::make_unique<crash::MemoryDisk>(path_);
    if (!disk_->why_not().empty()) GTEST_SKIP() << disk_->why_not();
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  void fill() const { ASSERT_TRUE(crash::leave_room(path_, 0)); }
  void make_room() const { ASSERT_TRUE(crash::leave_room(path_, kRoom)); }

  ClusterOptions options(NodeNumber node) const override {
    ClusterOptions options = BankUnderLoad::options(node);
    options.database.notices = [this](const Notice& notice) {
      if (!told_->load() && notice.text.find(awaited_) != std::string::npos) *told_ = true;
    };
    return options;
  }
  [[nodiscard]] bool was_told() const {
    return tests::comes_true([&] { return told_->load(); }, kSoon);
  }
  /// Nodes that need nobody else go on with what is their own.
  void expect_own_commits(std::uint64_t more = 50) const {
    for (const NodeNumber id : {NodeNumber{1}, kNeedsItNot}) {
      const std::uint64_t before = flags_.nodes[id].alone;
      EXPECT_TRUE(tests::comes_true([&] { return flags_.nodes[id].alone > before + more; }, kSoon))
          << "node " << id << " stands still";
    }
  }
  [[nodiscard]] bool releases_again() const {
    const std::uint64_t before = flags_.nodes[kNeedsItNot].released;
    return tests::comes_true([&] { return flags_.nodes[kNeedsItNot].released > before + 1; }, kSoon);
  }
  void bring_victim_back() {
    (void)child(kVictim)->wait();
    child(kVictim) = std::make_unique<CrashChild>(node(kVictim, /*load=*/false));
    expect_progress_by_all();
    end_all();
  }

  std::string path_;
  std::unique_ptr<crash::MemoryDisk> disk_;  ///< goes before the directory of the cluster that it lies in
  std::string awaited_;                      ///< part of a notice
  std::atomic<bool>* const told_ = &tests::map_shared<std::atomic<bool>>();
};

/// Its log fails, so it ends, and the recoverer finds no room for what it adopts.
TEST_F(FullDisk, OfOneNodeEndsItAndHoldsUpItsRecoveryUntilThereIsRoom) {
  awaited_ = "node 2 (generation 1) cannot be recovered here";
  mount("data/node-2");
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(start_all());
  fill();
  ASSERT_TRUE(tests::comes_true([&] { return child(kVictim)->ended(); }, kSoon)) << "its log has failed, and it stays";
  EXPECT_TRUE(was_told()) << "nobody says that the node cannot be recovered";
  expect_own_commits();
  make_room();
  EXPECT_TRUE(releases_again()) << "the node is not recovered though there is room";
  bring_victim_back();
}

TEST_F(FullDisk, OfTheRingsRefusesAWorkerAndNothingElse) {
  mount("rings");
  if (IsSkipped()) return;
  auto& full = tests::map_shared<std::atomic<bool>>();
  ASSERT_NO_FATAL_FAILURE(start_all());
  flags_.leaves = kVictim;
  (void)child(kVictim)->wait();
  flags_.leaves = 0;
  child(kVictim) = std::make_unique<CrashChild>([&](const CrashChild::Report& report) {
    Branch branch(options(kVictim), /*load=*/false);
    report("serves");
    (void)tests::comes_true([&] { return full.load(); });
    report(branch.cluster->register_worker().status().message());
    (void)tests::comes_true([&] { return !full.load(); });
    report(branch.cluster->register_worker().status().message());
    branch.worker.reset();
    report(branch.cluster->leave().message());
  });
  ASSERT_TRUE(child(kVictim)->run_until("serves"));
  fill();
  full = true;
  ASSERT_TRUE(child(kVictim)->run_until_beginning("", kSoon));
  expect_own_commits();
  EXPECT_TRUE(releases_again());
  make_room();
  full = false;
  EXPECT_EQ(child(kVictim)->wait().exit_code, 0);
  EXPECT_THAT(child(kVictim)->lines(),
              testing::ElementsAre("serves", testing::HasSubstr("No space left on device"), "", ""));
}

/// A recovery needs no room there.
TEST_F(FullDisk, OfTheRingsDoesNotHoldUpARecovery) {
  mount("rings");
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(start_all());
  fill();
  child(kVictim)->kill();
  EXPECT_TRUE(releases_again());
  expect_own_commits();
  make_room();
  bring_victim_back();
}

/// Nobody can write that the node is dead, nor who recovers it.
TEST_F(FullDisk, OfTheRunDirectoryHoldsUpADeathUntilThereIsRoom) {
  awaited_ = "No space left on device";
  mount("run");
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(start_all());
  fill();
  child(kVictim)->kill();
  // Between them each looks for the dead node for half a second, as it counts as living.
  constexpr std::uint64_t kFew = 5;
  expect_own_commits(kFew);
  EXPECT_TRUE(was_told()) << "nobody says that the run directory is full";
  make_room();
  EXPECT_TRUE(releases_again()) << "the death is not noted though there is room";
  bring_victim_back();
}

}  // namespace
}  // namespace granary
