// One thread of a living node stands still while the others go on, as with a debugger, a lost wake-up or a page that
// does not come back: nodes go on with what is their own, what cannot be acknowledged waits and a notice names the
// node, and when the thread goes on all is as before. The threads are those that no other one can stand in for.
//
// The rate of commits is measured as in removal_test.cc: again, if the machine had something else to do meanwhile.
// Not covered: threads of the fabric, of the service of messages, and of the watch.

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "tests/node/bank_under_load.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kDies = 3;

/// One thread of another process that is stopped alone. A signal would stop all of them, so this thread traces it; all
/// of it is called by one thread.
class StoppedThread {
 public:
  /// The first thread of the process with this name (base::name_thread).
  StoppedThread(pid_t process, std::string_view name) : thread_(find(process, name)) {
    if (thread_ < 0) {
      why_ = "no thread is called " + std::string(name);
    } else if (::ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) {
      refused_ = errno == EPERM;
      why_ = std::string("the system does not let a thread be traced: ") + std::strerror(errno);
    }
  }
  /// Nobody traces it any more. If its process has ended meanwhile, its parent is told of that only now.
  ~StoppedThread() {
    if (!why_.empty()) return;
    if (!stopped_) stop();
    if (stopped_) ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
  }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  /// Why it cannot be stopped; else "".
  [[nodiscard]] const std::string& why_not() const { return why_; }
  /// Whether that is because this process may trace none.
  [[nodiscard]] bool refused() const { return refused_; }

  /// Returns once it stands.
  void stop() {
    int status = 0;
    stopped_ = ::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) == 0 &&
               ::waitpid(thread_, &status, __WALL) == thread_ && WIFSTOPPED(status);
  }
  void go_on() {
    if (stopped_) ::ptrace(PTRACE_CONT, thread_, nullptr, nullptr);
    stopped_ = false;
  }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  static pid_t find(pid_t process, std::string_view name) {
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
      std::ifstream comm(task.path() / "comm");
      std::string found;
      std::getline(comm, found);
      if (found == name) return std::stoi(task.path().filename().string());
    }
    return -1;
  }

  const pid_t thread_;
  std::string why_;
  bool refused_ = false;
  bool stopped_ = false;
};

struct Case {
  std::string thread;
  NodeNumber node = 0;
  bool holds = true;   ///< results back, though nobody dies
  bool dies = false;   ///< another node meanwhile, which this thread is to notice
  std::string told{};  ///< by a notice of some node, with the node's number
};
std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.thread + (info.param.dies ? "_beside_a_death" : "");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class OneThread : public BankUnderLoad, public testing::WithParamInterface<Case> {
 protected:
  OneThread() : BankUnderLoad({}) {}

  /// With rings that take what is written while the log stands still, and a sink that looks for the notice.
  ClusterOptions options(NodeNumber node) const override {
    ClusterOptions options = BankUnderLoad::options(node);
    constexpr std::uint64_t kLarge = std::uint64_t{16} << 20;
    options.database.ring_bytes = kLarge;
    options.database.notices = [this](const Notice& notice) {
      const std::string named = fmt::format("node {} (generation 1)", GetParam().node);
      if (notice.text.find(GetParam().told) != std::string::npos && notice.text.find(named) != std::string::npos)
        told_ = true;
    };
    return options;
  }
  std::uint64_t released() const {
    return flags_.nodes[1].released + flags_.nodes[2].released + flags_.nodes[3].released;
  }
  /// What nodes 1 and 2 commit on their own accounts alone, the fewer of both.
  std::uint64_t commits_in(std::chrono::milliseconds window) const {
    const std::array<std::uint64_t, 2> before{flags_.nodes[1].alone, flags_.nodes[2].alone};
    std::this_thread::sleep_for(window);
    return std::min(flags_.nodes[1].alone - before[0], flags_.nodes[2].alone - before[1]);
  }
  /// Stops the thread for a moment, again and again, until both have committed nine tenths of what is usual meanwhile.
  void expect_usual_rate(StoppedThread& thread) {
    constexpr auto kWindow = std::chrono::milliseconds(500);
    std::uint64_t usual = ~std::uint64_t{0}, stopped = 0;
    for (unsigned turn = 0; turn < 8 && stopped * 10 < usual * 9; ++turn) {
      usual = std::min(usual, commits_in(kWindow));
      thread.stop();
      ASSERT_TRUE(thread.stopped());
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what was about to be released has been
      const std::uint64_t before = released();
      stopped = std::max(stopped, commits_in(kWindow));
      EXPECT_TRUE(!GetParam().holds || released() == before) << "it was released without the thread";
      thread.go_on();
      EXPECT_TRUE(tests::comes_true([&] { return released() > before; })) << "results are not released any more";
    }
    EXPECT_GE(stopped * 10, usual * 9) << "own records cannot be written as fast as usual";
  }

  std::atomic<bool>& told_ = tests::map_shared<std::atomic<bool>>();
};

INSTANTIATE_TEST_SUITE_P(Threads, OneThread,
                         testing::Values(Case{"gr-epoch", 2, true, false, "holds it back"},
                                         Case{"gr-leader", 1, true, false, "which advances it, stands still"},
                                         Case{"gr-logger", 2, true, false, "does not get on"},
                                         Case{"gr-survivor", 2, false, true, "holds it back"},
                                         Case{"gr-membership", 2, false, true, "holds it back"}),
                         name_of);

TEST_P(OneThread, OfALivingNodeIsNamedAndMissedByNobodyElse) {
  const Case& test = GetParam();
  ASSERT_NO_FATAL_FAILURE(start_all());
  {
    StoppedThread thread(child(test.node)->process(), test.thread);
    if (thread.refused()) GTEST_SKIP() << thread.why_not();
    ASSERT_EQ(thread.why_not(), "");
    ASSERT_NO_FATAL_FAILURE(expect_usual_rate(thread));
    told_ = false;
    thread.stop();
    ASSERT_TRUE(thread.stopped());
    if (test.dies) child(kDies)->kill();
    EXPECT_TRUE(tests::comes_true([&] { return told_.load(); }, std::chrono::seconds(20))) << "nobody names the node";
    // A node that has not been told of the death looks for the dead node for half a second, between its own commits.
    EXPECT_GT(commits_in(std::chrono::seconds(3)), 0u) << "own records cannot be written";
  }
  if (test.dies) child(kDies) = std::make_unique<CrashChild>(node(kDies, /*load=*/false));
  expect_progress_by_all();
  end_all();
}

}  // namespace
}  // namespace granary
