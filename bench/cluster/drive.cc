#include "bench/cluster/drive.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "bench/cluster/node_process.h"
#include "bench/harness/rendezvous.h"
#include "src/base/random.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::cluster {

namespace {

class Driver {
 public:
  Driver(const StopSignals& signals, const DriveOptions& options)
      : signals_(signals),
        options_(options),
        random_(options.deaths ? options.deaths->seed : 0) {}

  DriveResult run(const std::vector<NodeCommand>& commands) {
    for (const NodeCommand& command : commands) {
      auto started = NodeProcess::start(command.label, command.words, options_.inherited);
      if (!started.ok()) return {ExitCode::kEnvironment, started.status().message()};
      nodes_.push_back({.process = std::move(*started)});
    }
    commands_ = &commands;
    while (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.process->lives(); })) turn();
    return result_;
  }

 private:
  struct Node {
    std::unique_ptr<NodeProcess> process;
    bool talks = true;    // its output has not ended
    bool waits = false;   // it has come to a meeting
    bool absent = false;  // it was killed as planned, and nobody waits for it
  };
  /// How far the planned death has come.
  enum class DeathStage { kNone, kComing, kKilled, kAway, kReturning, kOver };

  /// Waits until something happens, and handles it.
  void turn() {
    std::vector<pollfd> sources;
    for (const Node& node : nodes_) {
      const NodeProcess& process = *node.process;
      sources.push_back({node.talks ? process.output() : -1, POLLIN, 0});
      sources.push_back({node.waits ? -1 : process.socket(), POLLIN, 0});
      sources.push_back({process.lives() ? process.end() : -1, POLLIN, 0});
    }
    const timespec most = until_next();
    ppoll(sources.data(), sources.size(), &most, nullptr);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      if (sources[3 * i].revents != 0) node.talks = node.process->forward_output();
      if (sources[3 * i + 1].revents != 0) listen(node);
      if (sources[3 * i + 2].revents != 0) bury(node);
    }
    meet();
    if (death_ns_ != 0 && base::monotonic_ns() >= death_ns_) die_or_return();
    if (signals_.requested() && !asked_to_stop_) stop_all(SIGINT);
    if (stop_ns_ != 0 && base::monotonic_ns() > stop_ns_) {
      stop_ns_ = 0;
      stop_all(SIGTERM);
    }
    if (give_up_ns_ != 0 && base::monotonic_ns() > give_up_ns_) {
      for (Node& node : nodes_) node.process->signal(SIGKILL);
    }
  }

  /// Returns how long a turn may wait for something to happen.
  timespec until_next() const {
    constexpr std::uint64_t kTurn_ns = 100'000'000;
    const std::uint64_t now = base::monotonic_ns();
    std::uint64_t most = kTurn_ns;
    if (death_ns_ != 0) most = std::min(most, death_ns_ - std::min(now, death_ns_));
    return {0, static_cast<long>(most)};
  }

  /// Kills the victim, or starts it again, when the time for it has come.
  void die_or_return() {
    Node& node = nodes_[victim_];
    death_ns_ = 0;
    if (asked_to_stop_) return;
    if (stage_ == DeathStage::kComing) {
      if (!node.process->lives()) return;  // its end was handled like that of any other node
      stage_ = DeathStage::kKilled;
      node.process->signal(SIGKILL);
      killed_ns_ = base::monotonic_ns();
      if (options_.death) options_.death->killed(killed_ns_);
      return;
    }
    stage_ = options_.deaths ? DeathStage::kReturning : DeathStage::kOver;
    if (options_.death) options_.death->restarts(base::monotonic_ns());
    const NodeCommand& command = (*commands_)[victim_];
    auto started = NodeProcess::start(command.label, command.words, options_.inherited);
    if (!started.ok()) return fail({ExitCode::kEnvironment, started.status().message()});
    node = {.process = std::move(*started)};
  }

  /// Whether the node's end is the planned one.
  bool ends_as_planned(Node& node, int code) {
    if (stage_ != DeathStage::kKilled || &node != &nodes_[victim_] || code != kSignals + SIGKILL) return false;
    constexpr std::uint64_t kMostAway_ns = 300'000'000;
    const auto back = options_.deaths ? std::optional(random_.below(kMostAway_ns)) : options_.death->back_after_ns;
    stage_ = back ? DeathStage::kAway : DeathStage::kOver;
    node.absent = !back;
    if (back) death_ns_ = killed_ns_ + *back;
    return true;
  }

  /// Plans the next of the repeated deaths, or the end if there is none any more.
  void plan_next() {
    constexpr std::uint64_t kLeast_ns = 100'000'000, kMore_ns = 400'000'000;
    if (result_.returns < options_.deaths->count) {
      stage_ = DeathStage::kComing;
      victim_ = random_.below(nodes_.size());
      death_ns_ = base::monotonic_ns() + kLeast_ns + random_.below(kMore_ns);
      return;
    }
    stage_ = DeathStage::kOver;
    for (const Node& node : nodes_) node.process->signal(SIGINT);
  }

  void fail(DriveResult how) {
    if (result_.code == ExitCode::kOk) result_ = std::move(how);
    stop_all(SIGTERM);
  }

  void listen(Node& node) {
    char byte = 0;
    if (recv(node.process->socket(), &byte, 1, MSG_DONTWAIT) == 1) {
      node.waits = byte != kReturnByte;
      if (byte != kReturnByte || stage_ != DeathStage::kReturning || &node != &nodes_[victim_]) return;
      ++result_.returns;
      plan_next();
    } else {
      node.process->close_socket();  // the node has ended, or will not meet any more
    }
  }

  void bury(Node& node) {
    while (node.talks) node.talks = node.process->forward_output();
    const int code = node.process->reap();
    node.process->close_socket();
    node.waits = false;
    if (code == 0 || ends_as_planned(node, code)) return;
    if (result_.code == ExitCode::kOk) {
      constexpr int kKnown = static_cast<int>(ExitCode::kMembershipLost);
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

  /// Lets the nodes go on when all have come to the meeting. If one has ended, they would wait for ever.
  void meet() {
    if (!std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.waits; })) return;
    const bool away = !asked_to_stop_ && (stage_ == DeathStage::kKilled || stage_ == DeathStage::kAway);
    const bool one_left = !away && std::any_of(nodes_.begin(), nodes_.end(),
                                               [](const Node& n) { return !n.absent && !n.process->lives(); });
    if (!one_left && !std::all_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.waits || n.absent; }))
      return;
    if (options_.deaths && stage_ == DeathStage::kNone && !one_left) {
      plan_next();
    } else if (options_.death && stage_ == DeathStage::kNone && !one_left) {
      victim_ = options_.death->node;
      const std::uint64_t now = base::monotonic_ns();
      stage_ = DeathStage::kComing;
      death_ns_ = now + options_.death->after_ns;
      options_.death->begun(now);
    }
    for (Node& node : nodes_) {
      if (node.absent) continue;
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

  static constexpr int kSignals = 256;  // NodeProcess::reap() returns at least this for a process that was killed

  const StopSignals& signals_;
  const DriveOptions options_;
  const std::vector<NodeCommand>* commands_ = nullptr;
  std::vector<Node> nodes_;
  DriveResult result_;
  bool asked_to_stop_ = false;
  std::uint64_t stop_ns_ = 0;     // when the others are asked to stop, as one has failed; 0: not planned
  std::uint64_t give_up_ns_ = 0;  // 0: not yet
  DeathStage stage_ = DeathStage::kNone;
  std::size_t victim_ = 0;       // the node that dies next, or died last
  base::Random random_;          // draws the victims and times of repeated deaths
  std::uint64_t death_ns_ = 0;   // the time of the planned death, or of the return; 0: not planned
  std::uint64_t killed_ns_ = 0;  // when the victim was killed
};

}  // namespace

DriveResult drive(const std::vector<NodeCommand>& commands, const StopSignals& signals, const DriveOptions& options) {
  return Driver(signals, options).run(commands);
}

}  // namespace granary::bench::cluster
