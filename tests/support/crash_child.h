#pragma once
// A child process to be killed: by the parent after a while, or by itself at a named sync point. Its reports tell what
// it did before: each is one write to a pipe, which outlives the child.
//
// The parent forks, so it must have no other threads then, also none that an earlier test case has left.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"

namespace granary::tests {

class CrashChild {
 public:
  /// Tells the parent a line. The child calls it, and it returns once the parent will see the line, whatever happens to
  /// the child. Lines of less than a page from several threads do not mix.
  using Report = std::function<void(const std::string& line)>;
  using Body = std::function<void(const Report& report)>;

  /// Runs `body` in a child, which ends when `body` returns. Its exit code is 1 if an expectation failed in it, and
  /// otherwise 0, whatever has failed in the parent before.
  explicit CrashChild(const Body& body) {
    start([&](int output) {
      auto* const failures = new FailureListener;  // the list of listeners owns it
      testing::UnitTest::GetInstance()->listeners().Append(failures);
      body([output](const std::string& line) { write_all(output, line + "\n"); });
      return failures->any() ? 1 : 0;
    });
  }
  /// Runs a program in a child. The lines of its standard output are its reports.
  explicit CrashChild(const std::vector<std::string>& command) {
    start([&](int output) {
      ::dup2(output, STDOUT_FILENO);
      std::vector<char*> arguments;
      for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments.front(), arguments.data());
      return kCannotExec;
    });
  }
  ~CrashChild() {
    if (child_ > 0) kill();
    ::close(reports_);
  }
  CrashChild(const CrashChild&) = delete;
  CrashChild& operator=(const CrashChild&) = delete;

  /// Gathers reports for this long, or until the child has ended.
  void run_for(std::chrono::microseconds time) {
    read_until(std::chrono::steady_clock::now() + time, [] { return false; });
  }
  /// Gathers reports until this line is among them. Returns false if the child ended before, or did not report it
  /// within a minute.
  bool run_until(std::string_view line) {
    return run_until([&](const std::string& reported) { return reported == line; }, kPatience);
  }
  /// Gathers reports until a line with this beginning is among them, but for no longer than `longest`.
  bool run_until_beginning(std::string_view beginning, std::chrono::microseconds longest) {
    return run_until([&](const std::string& reported) { return reported.starts_with(beginning); }, longest);
  }
  /// Kills the child by SIGKILL. Afterwards lines() is complete.
  void kill() {
    if (child_ <= 0) return;  // the child has ended, and ::kill() takes -1 for every process there is
    ::kill(child_, SIGKILL);
    (void)wait();
  }
  /// Sends a signal that the child may survive.
  void signal(int number) const {
    if (child_ > 0) ::kill(child_, number);
  }
  /// Waits until a signal of its own or of the parent has stopped the child. Returns false if the child has ended, or
  /// has not been stopped within a minute.
  [[nodiscard]] bool wait_until_stopped() const {
    for (const auto end = std::chrono::steady_clock::now() + kPatience; std::chrono::steady_clock::now() < end;) {
      siginfo_t seen{};
      if (::waitid(P_PID, static_cast<id_t>(child_), &seen, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) == 0 &&
          seen.si_pid == child_)
        return seen.si_code == CLD_STOPPED;
      ::usleep(1000);
    }
    return false;
  }
  /// Returns the child's process; -1 once wait() or kill() has returned.
  [[nodiscard]] pid_t process() const { return child_; }
  /// Whether the child has ended by now.
  [[nodiscard]] bool ended() const {
    siginfo_t seen{};
    const int asked = ::waitid(P_PID, static_cast<id_t>(child_), &seen, WEXITED | WNOWAIT | WNOHANG);
    return asked == 0 && seen.si_pid == child_;
  }
  struct End {
    bool killed = false;  ///< whether a SIGKILL of its own or of the parent ended it
    int exit_code = -1;   ///< its exit code, if it ended by itself
  };
  /// Gathers reports until the child has ended. If that takes a minute, the test fails and the child is killed.
  End wait() {
    if (child_ <= 0) return {};
    if (!read_until(std::chrono::steady_clock::now() + kPatience, [] { return false; })) {
      ADD_FAILURE() << "the child hangs; killed";
      ::kill(child_, SIGKILL);
    }
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return {WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }
  /// Returns the whole lines so far, in order.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  /// Notes whether expectations have failed since it began to listen, in any thread (relaxed, as nothing else is handed
  /// over with that).
  class FailureListener final : public testing::EmptyTestEventListener {
   public:
    void OnTestPartResult(const testing::TestPartResult& result) override {
      if (result.failed()) any_.store(true, std::memory_order_relaxed);
    }
    bool any() const { return any_.load(std::memory_order_relaxed); }

   private:
    std::atomic<bool> any_{false};
  };

  static constexpr int kCannotExec = 127;
  static constexpr auto kPatience = std::chrono::seconds(60);

  template <typename IsIt>
  bool run_until(IsIt&& is_it, std::chrono::microseconds longest) {
    std::size_t seen = 0;
    const auto there = [&] {
      while (seen < lines_.size() && !is_it(lines_[seen])) ++seen;
      return seen < lines_.size();
    };
    read_until(std::chrono::steady_clock::now() + longest, there);
    return there();
  }
  template <typename Run>
  void start(Run&& run) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      ::close(ends[0]);
      ::_exit(run(ends[1]));
    }
    ::close(ends[1]);
    reports_ = ends[0];
  }
  static void write_all(int output, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(output, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) ::_exit(kCannotExec);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  /// Gathers reports until `enough()`, until `end`, or until the child has ended. Returns true in the last case only.
  template <typename Enough>
  bool read_until(std::chrono::steady_clock::time_point end, Enough&& enough) {
    while (!enough()) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      pollfd poll{reports_, POLLIN, 0};
      const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
      const timespec timeout{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
      if (::ppoll(&poll, 1, &timeout, nullptr) <= 0) continue;
      char bytes[4096];
      const ssize_t got = ::read(reports_, bytes, sizeof bytes);
      if (got == 0) return true;
      if (got > 0) add({bytes, static_cast<std::size_t>(got)});
    }
    return false;
  }
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte == '\n') {
        lines_.push_back(std::exchange(rest_, {}));
      } else {
        rest_.push_back(byte);
      }
    }
  }

  pid_t child_ = -1;
  int reports_ = -1;
  std::vector<std::string> lines_;
  std::string rest_;
};

/// Returns a sync hook (base::set_sync_hook) by which the process kills itself when `point` is passed for the nth time,
/// which counts from 0. All threads that have a copy of it count together, relaxed, as only the number matters.
inline base::SyncHook die_at(std::string point, std::uint64_t nth = 0) {
  const auto passed = std::make_shared<std::atomic<std::uint64_t>>(0);
  return [point = std::move(point), nth, passed](std::string_view at) {
    if (at == point && passed->fetch_add(1, std::memory_order_relaxed) == nth) ::kill(::getpid(), SIGKILL);
  };
}

}  // namespace granary::tests
