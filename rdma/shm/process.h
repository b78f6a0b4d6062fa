#pragma once
// Names the process of a peer, which a node must be able to end (Fabric::cut_off).
//
// A number does not name a process for good: it is given to another one once the process has ended, and then a signal
// would end the wrong one. So each side opens a pidfd of itself and passes it when the two meet. The system tells which
// process is at the other end of the socket; a pidfd of another process is refused.

#include <cstdint>
#include <memory>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/shm/descriptor.h"

namespace granary::rdma::shm {

class Process {
 public:
  /// Returns this process. Returns kUnavailable if the system has no pidfds (Linux before 5.3).
  static Result<Process> self();
  /// Returns the process at the other end of the connected `socket`, which has passed `handle` as its own pidfd.
  /// Returns kFailedPrecondition if `handle` is no pidfd, or is of another process. A process in a PID namespace that
  /// is not seen from here is taken at its word, and cannot be killed from here.
  static Result<Process> at_other_end(int socket, Descriptor handle);

  /// Returns 0 if the process is in a PID namespace that is not seen from here.
  int number() const { return number_; }
  bool is_this_one() const;
  /// Returns the pidfd, which is readable when the process has ended.
  int handle() const { return handle_.get(); }
  /// Whether the process has ended, so that none of its threads stores anything any more.
  bool ended() const { return wait_readable(handle_.get(), 0); }
  /// Waits until the process has ended. Returns false once base::monotonic_us() has reached `deadline_us`.
  bool wait_until_ended(std::uint64_t deadline_us) const;
  /// Sends SIGKILL and does not wait. Returns OK if the process has ended already.
  Status kill() const;

 private:
  Process(int number, Descriptor handle) : number_(number), handle_(std::move(handle)) {}

  int number_;
  Descriptor handle_;
};

/// Processes, each of which is shared with all who wait for its end.
using Processes = std::vector<std::shared_ptr<const Process>>;

/// Kills processes of `node`, except this one, and returns when they have ended. Returns kUnavailable with the first
/// process that runs and cannot be killed, or has not ended after `timeout_us`.
Status end_processes(NodeId node, const Processes& processes, std::uint64_t timeout_us);

}  // namespace granary::rdma::shm
