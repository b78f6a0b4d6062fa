// A node's disk that hangs: calls to it do not return, and a process that waits in one cannot even be killed. It is an
// ext4 file system on a loop device that is frozen (FIFREEZE), below the data of one node. The other nodes go on with
// what is their own, results wait, and a notice names the node; when the disk answers again, all go on, whether the
// node was killed meanwhile or not. Needs root.

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/crash/disks.h"
#include "tests/node/bank_under_load.h"
#include "tests/support/mount_namespace.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::CrashChild;

constexpr NodeNumber kHung = 2;
constexpr NodeNumber kUnaffected = 3;  ///< its transactions do without the victim
constexpr auto kBeforeLong = std::chrono::seconds(20);

/// A frozen file system. A process of its own thaws it when this object goes, or this process ends however: else a
/// process that waits for the disk would stay for ever.
class Frozen {
 public:
  explicit Frozen(const std::string& path) {
    const int disk = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (disk < 0 || ::pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    guard_ = ::fork();
    if (guard_ == 0) {
      ::close(ends_[1]);
      char byte = 0;
      while (::read(ends_[0], &byte, 1) < 0) {
      }
      ::_exit(::ioctl(disk, FITHAW, 0) == 0 ? 0 : 1);
    }
    ::close(ends_[0]);
    frozen_ = guard_ > 0 && ::ioctl(disk, FIFREEZE, 0) == 0;
    ::close(disk);
  }
  ~Frozen() { thaw(); }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

  [[nodiscard]] bool frozen() const { return frozen_; }
  void thaw() {
    if (guard_ <= 0) return;
    ::close(ends_[1]);
    ::waitpid(guard_, nullptr, 0);
    guard_ = -1;
    frozen_ = false;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  pid_t guard_ = -1;
  bool frozen_ = false;
};

class HungDisk : public BankUnderLoad {
 protected:
  HungDisk() : BankUnderLoad({}) {}
  void SetUp() override {
    BankUnderLoad::SetUp();
    if (IsSkipped()) return;
    if (const std::string why = tests::enter_mount_namespace(); !why.empty()) GTEST_SKIP() << why;
    disk_ = std::make_unique<crash::LoopDisk>(place_.path());
    if (!disk_->why_not().empty()) GTEST_SKIP() << disk_->why_not();
    std::filesystem::create_directories(data());
    if (::mount(disk_->path().c_str(), data().c_str(), nullptr, MS_BIND, nullptr) != 0)
      GTEST_SKIP() << tests::why_not_mounted("bind a directory");
    bound_ = true;
    std::filesystem::permissions(data(), std::filesystem::perms::owner_all);
  }
  void TearDown() override {
    for (std::unique_ptr<CrashChild>& each : children_) each.reset();
    if (bound_) ::umount2(data().c_str(), MNT_DETACH);
  }
  std::string data() const { return folder() / "data/node-2"; }

  ClusterOptions options(NodeNumber node) const override {
    ClusterOptions options = BankUnderLoad::options(node);
    options.database.notices = [this](const Notice& notice) {
      if (notice.text.find("node 2 (generation 1)") != std::string::npos) *told_ = true;
    };
    return options;
  }
  /// Nothing is released, others write what is their own, and are told who keeps results back.
  void expect_others_go_on() const {
    *told_ = false;
    for (const NodeNumber id : {NodeNumber{1}, kUnaffected}) {
      const std::uint64_t before = flags_.nodes[id].alone;
      EXPECT_TRUE(tests::comes_true([&] { return flags_.nodes[id].alone > before + 50; }, kBeforeLong))
          << "node " << id << " stands still";
    }
    EXPECT_TRUE(tests::comes_true([&] { return told_->load(); }, kBeforeLong)) << "nobody names the node";
    const std::uint64_t before = flags_.nodes[kUnaffected].released;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(flags_.nodes[kUnaffected].released, before) << "it was released without the node's log";
  }

  const tests::TemporaryDirectory place_;
  std::unique_ptr<crash::LoopDisk> disk_;
  bool bound_ = false;
  std::atomic<bool>* const told_ = &tests::map_shared<std::atomic<bool>>();
};

TEST_F(HungDisk, OfOneNodeKeepsResultsBackUntilItAnswers) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  Frozen frozen(data());
  if (!frozen.frozen()) GTEST_SKIP() << "a file system cannot be frozen here";
  expect_others_go_on();
  frozen.thaw();
  expect_progress_by_all();
  end_all();
}

/// The process does not end before its disk answers. Until then nobody recovers it.
TEST_F(HungDisk, OfANodeThatIsKilledHoldsUpItsRecoveryUntilItAnswers) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  Frozen frozen(data());
  if (!frozen.frozen()) GTEST_SKIP() << "a file system cannot be frozen here";
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until its logger waits for the disk
  child(kHung)->signal(SIGKILL);
  expect_others_go_on();
  frozen.thaw();
  (void)child(kHung)->wait();
  child(kHung) = std::make_unique<CrashChild>(node(kHung, /*load=*/false));
  expect_progress_by_all();
  end_all();
}

}  // namespace
}  // namespace granary
