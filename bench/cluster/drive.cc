#include "bench/cluster/drive.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "bench/cluster/node_process.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::cluster {

namespace {

class Driver {
 public:
  Driver(const StopSignals& signals, const DriveOptions& options) : signals_(signals), options_(options) {}

  DriveResult run(const std::vector<NodeCommand>& commands) {
    for (const NodeCommand& command : commands) {
      auto started = NodeProcess::start(command.label, command.words);
      if (!started.ok()) return {ExitCode::kEnvironment, started.status().message()};
      nodes_.push_back({.process = std::move(*started)});
    }
    while (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.process->lives(); })) turn();
    return result_;
  }

 private:
  struct Node {
    std::unique_ptr<NodeProcess> process;
    bool talks = true;   // its output has not ended
    bool waits = false;  // it has come to a meeting
  };

  /// Waits for something to happen and deals with it.
  void turn() {
    constexpr int kTurn_ms = 100;
    std::vector<pollfd> sources;
    for (const Node& node : nodes_) {
      const NodeProcess& process = *node.process;
      sources.push_back({node.talks ? process.output() : -1, POLLIN, 0});
      sources.push_back({node.waits ? -1 : process.socket(), POLLIN, 0});
      sources.push_back({process.lives() ? process.end() : -1, POLLIN, 0});
    }
    poll(sources.data(), sources.size(), kTurn_ms);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      if (sources[3 * i].revents != 0) node.talks = node.process->forward_output();
      if (sources[3 * i + 1].revents != 0) listen(node);
      if (sources[3 * i + 2].revents != 0) bury(node);
    }
    meet();
    if (signals_.requested() && !asked_to_stop_) stop_all(SIGINT);
    if (stop_ns_ != 0 && base::monotonic_ns() > stop_ns_) {
      stop_ns_ = 0;
      stop_all(SIGTERM);
    }
    if (give_up_ns_ != 0 && base::monotonic_ns() > give_up_ns_) {
      for (Node& node : nodes_) node.process->signal(SIGKILL);
    }
  }

  void listen(Node& node) {
    char byte = 0;
    if (recv(node.process->socket(), &byte, 1, MSG_DONTWAIT) == 1) {
      node.waits = true;
    } else {
      node.process->close_socket();  // it has ended, or will not meet any more
    }
  }

  void bury(Node& node) {
    while (node.talks) node.talks = node.process->forward_output();
    const int code = node.process->reap();
    node.process->close_socket();
    node.waits = false;
    if (code == 0) return;
    if (result_.code == ExitCode::kOk) {
      constexpr int kSignals = 256, kKnown = static_cast<int>(ExitCode::kMembershipLost);
      result_.code = code <= kKnown ? static_cast<ExitCode>(code) : ExitCode::kEnvironment;
      result_.message = code < kSignals
                            ? fmt::format("{} ended with exit code {}", node.process->label(), code)
                            : fmt::format("{} was killed by signal {}", node.process->label(), code - kSignals);
    }
    if (code == static_cast<int>(ExitCode::kCheckFailed)) return;
    if (options_.go_on_ms == 0) {
      stop_all(SIGTERM);
    } else if (stop_ns_ == 0) {
      stop_ns_ = after_ms(options_.go_on_ms);
    }
  }

  /// Lets the nodes go on when all have come; if one has ended, they would wait for ever.
  void meet() {
    if (!std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.waits; })) return;
    const bool one_left = std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return !n.process->lives(); });
    if (!one_left && !std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.waits; })) return;
    for (Node& node : nodes_) {
      const char byte = 'g';
      if (one_left && node.waits) node.process->close_socket();
      if (!one_left && send(node.process->socket(), &byte, 1, MSG_NOSIGNAL) != 1) node.process->close_socket();
      node.waits = false;
    }
  }

  void stop_all(int signal) {
    if (!asked_to_stop_) {
      for (Node& node : nodes_) node.process->signal(signal);
    }
    asked_to_stop_ = true;
    if (signal == SIGTERM && give_up_ns_ == 0) give_up_ns_ = after_ms(options_.patience_ms);
  }

  static std::uint64_t after_ms(int milliseconds) {
    return base::monotonic_ns() + static_cast<std::uint64_t>(milliseconds) * 1'000'000;
  }

  const StopSignals& signals_;
  const DriveOptions options_;
  std::vector<Node> nodes_;
  DriveResult result_;
  bool asked_to_stop_ = false;
  std::uint64_t stop_ns_ = 0;     // when the others are asked to stop, as one has failed; 0: not at any time
  std::uint64_t give_up_ns_ = 0;  // 0: not yet
};

}  // namespace

DriveResult drive(const std::vector<NodeCommand>& commands, const StopSignals& signals, const DriveOptions& options) {
  return Driver(signals, options).run(commands);
}

}  // namespace granary::bench::cluster
