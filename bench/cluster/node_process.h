#pragma once
// A node of a cluster on this host, as a process that this one starts and watches.

#include <sys/types.h>

#include <optional>
#include <memory>
#include <string>
#include <vector>

#include <granary/status.h>

namespace granary::bench::cluster {

class NodeProcess {
 public:
  /// `words`: program and arguments. The process gets a socket to us at kRendezvousDescriptor, and a process group of
  /// its own, so that a terminal's Ctrl-C reaches only us; it ends when we do. It finds `inherited`, unless negative,
  /// at kTimeLineDescriptor. Precondition: `inherited` is greater than that.
  static Result<std::unique_ptr<NodeProcess>> start(std::string label, const std::vector<std::string>& words,
                                                    int inherited = -1);
  /// Kills the process if it lives.
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  const std::string& label() const { return label_; }
  /// Returns the descriptors to poll: for output (both streams), a byte from the node, and its end.
  int output() const { return output_; }
  int socket() const { return socket_; }
  int end() const { return end_; }

  /// Reads the output that there is, and prints its whole lines, each after the label, on standard error. Returns false
  /// at the end of output.
  bool forward_output();
  void signal(int number) const;
  /// After end() has become readable: what it ended with, for people. Exit codes as they are; 256 + number for signals.
  int reap();
  bool lives() const { return !code_; }
  void close_socket();

 private:
  NodeProcess(std::string label, pid_t pid, int output, int socket, int end);

  const std::string label_;
  const pid_t pid_;
  int output_, socket_, end_;
  std::string line_;  // a line that has begun but not ended
  std::optional<int> code_;
};

}  // namespace granary::bench::cluster
