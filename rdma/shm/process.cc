#include "rdma/shm/process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "src/base/test_hooks.h"
#include "src/base/tsc_clock.h"

namespace granary::rdma::shm {
namespace {

constexpr int kHasEnded = -1;

/// Returns the number of the process that a pidfd is of, as /proc tells it: 0 if the process is in another PID
/// namespace, kHasEnded if it has ended. Returns kInvalidArgument if `fd` is no pidfd; kUnavailable if /proc cannot be
/// read.
Result<int> process_of(int fd) {
  std::ifstream facts(fmt::format("/proc/self/fdinfo/{}", fd));
  if (!facts) return system_error(StatusCode::kUnavailable, "look at the peer's pidfd");
  for (std::string word; facts >> word;) {
    int number = kHasEnded;
    if (word == "Pid:" && facts >> number) return number;
  }
  return Status(StatusCode::kInvalidArgument, "it is no pidfd");
}

/// Returns "process 4711".
std::string name_of(const Process& process) {
  return process.number() != 0 ? fmt::format("process {}", process.number()) : "process in another PID namespace";
}

}  // namespace

Result<Process> Process::self() {
  Process process(::getpid(), Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))));
  if (!process.handle_.open() || ::syscall(SYS_pidfd_send_signal, process.handle(), 0, nullptr, 0) != 0) {
    return system_error(StatusCode::kUnavailable, "name this process by a pidfd (needs Linux 5.3)");
  }
  return process;
}

Result<Process> Process::at_other_end(int socket, Descriptor handle) {
  const int number = peer_of(socket).process;
  const Result<int> named =
      handle.open() ? process_of(handle.get()) : Status(StatusCode::kInvalidArgument, "it has none");
  if (named.ok() && *named == kHasEnded)
    return Status(StatusCode::kUnavailable, fmt::format("process {} at the other end has just ended", number));
  if (named.ok() && (number == 0 || *named == number)) return Process(number, std::move(handle));
  if (named.status().code() == StatusCode::kUnavailable) return named.status();
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("process {} is at the other end and passes no pidfd of itself ({}), so it could not be ended; a "
                  "process that forks opens its fabric afterwards",
                  number, named.ok() ? fmt::format("but of {}", *named) : named.status().message()));
}

bool Process::is_this_one() const { return number_ == ::getpid(); }

Status Process::kill() const {
  if (::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0) == 0 || errno == ESRCH) return {};
  return system_error(StatusCode::kUnavailable, "kill it");
}

bool Process::wait_until_ended(std::uint64_t deadline_us) const {
  while (!ended()) {
    const std::uint64_t now_us = base::monotonic_us();
    if (now_us >= deadline_us) return false;
    (void)wait_readable(handle_.get(), deadline_us - now_us);
  }
  return true;
}

Status end_processes(NodeId node, const Processes& processes, std::uint64_t timeout_us) {
  if (base::injected("cut-off-without-kill")) return {};
  std::vector<Status> killed;
  for (const auto& process : processes) killed.push_back(process->is_this_one() ? Status() : process->kill());
  const std::uint64_t deadline_us = base::monotonic_us() + timeout_us;
  Status trouble;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Process& process = *processes[i];
    // A process that cannot be killed is not waited for. It may have ended even so.
    const bool ended = process.is_this_one() || process.wait_until_ended(killed[i].ok() ? deadline_us : 0);
    if (ended || !trouble.ok()) continue;
    const std::string why =
        killed[i].ok() ? fmt::format("was killed and has not ended after {} ms; /proc/{}/stack tells what it waits for",
                                     timeout_us / 1000, process.number())
                       : fmt::format("runs, and this one {}; end it", killed[i].message());
    trouble =
        Status(StatusCode::kUnavailable, fmt::format("node {} is not cut off: its {} {}", node, name_of(process), why));
  }
  return trouble;
}

}  // namespace granary::rdma::shm
