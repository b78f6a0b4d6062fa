#include "bench/harness/stop_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "src/base/check.h"
#include "src/base/tsc_clock.h"

namespace granary::bench {

namespace {

// A signal handler has no other way to its object. Written by the handler and by the main thread, read by both;
// relaxed, because the pipe is what wakes the reader. Lock-free, so allowed in a handler.
std::atomic<bool> stop_requested{false};
std::atomic<bool> asks_first{false};
int wake_pipe[2] = {-1, -1};
static_assert(std::atomic<bool>::is_always_lock_free);

/// A signal that is repeated within this time counts as one request, because `timeout` signals a process and then its
/// group.
constexpr std::uint64_t kOneRequest_ns = 500'000'000;
// The first signal, and when it came; 0 if none has come, or its handler has yet to set the time. Relaxed, like the
// others. Two threads may handle two signals at once, as when a stopped process goes on, so the first signal is the one
// whose handler has changed requested_by.
std::atomic<int> requested_by{0};
std::atomic<std::uint64_t> requested_ns{0};

constexpr int kOfSignals = 128;  // the exit code of a process that a signal has ended is this plus the signal's number

void on_signal(int number) {
  const int saved = errno;
  const std::uint64_t now = base::monotonic_ns();
  int first = 0;
  const bool repeated = !requested_by.compare_exchange_strong(first, number, std::memory_order_relaxed);
  const std::uint64_t first_ns = requested_ns.load(std::memory_order_relaxed);
  if (repeated && first == number && (first_ns == 0 || now - first_ns < kOneRequest_ns)) return;
  if (repeated || !asks_first.load(std::memory_order_relaxed)) {
    constexpr char kText[] = "\ngranary: interrupted\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
    _exit(kOfSignals + number);
  }
  requested_ns.store(now, std::memory_order_relaxed);
  stop_requested.store(true, std::memory_order_relaxed);
  [[maybe_unused]] const auto woken = write(wake_pipe[1], "x", 1);
  errno = saved;
}

}  // namespace

StopSignals::StopSignals() {
  base::always_check(pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) == 0, "no pipe for signals");
  stop_requested.store(false, std::memory_order_relaxed);
  requested_by.store(0, std::memory_order_relaxed);
  requested_ns.store(0, std::memory_order_relaxed);
  asks_first.store(false, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction inherited {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

StopSignals::~StopSignals() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  struct sigaction hang_up {};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler == on_signal) signal(SIGHUP, SIG_DFL);
  close(wake_pipe[0]);
  close(wake_pipe[1]);
}

void StopSignals::ask_first(bool on) { asks_first.store(on, std::memory_order_relaxed); }

bool StopSignals::requested() const { return stop_requested.load(std::memory_order_relaxed); }

int StopSignals::exit_code() const { return kOfSignals + requested_by.load(std::memory_order_relaxed); }

bool StopSignals::wait_until(unsigned long long deadline_ns) const {
  for (;;) {
    if (requested()) return true;
    const unsigned long long now = base::monotonic_ns();
    if (now >= deadline_ns) return false;
    const unsigned long long left = deadline_ns - now;
    const timespec timeout{.tv_sec = static_cast<time_t>(left / 1'000'000'000u),
                           .tv_nsec = static_cast<long>(left % 1'000'000'000u)};
    pollfd readable{.fd = wake_pipe[0], .events = POLLIN, .revents = 0};
    ppoll(&readable, 1, &timeout, nullptr);
  }
}

}  // namespace granary::bench
