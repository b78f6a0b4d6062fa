// Does the last part of the recovery of nodes that do not see each other's directories: a node takes its own records
// from the others' logs, by messages. Nodes that start together all do it at the same time. A node that comes back does
// it while others serve, and reads as much of their logs as they had when they became quiet.

#include "src/node/take_from_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "src/db/engine.h"
#include "src/node/cluster_node.h"
#include "src/node/prepare_directories.h"
#include "src/node/remote_files.h"

namespace granary::db {

using membership::Configuration;

bool ClusterNode::takes_from_elsewhere() const { return !sees_all(config_, own_) && cluster_config::has_logs(config_); }

Status ClusterNode::take_from_elsewhere() {
  if (!takes_from_elsewhere()) return {};
  for (const auto& node : config_.nodes) {
    if (own_.data_directory.empty() || node.data_directory.empty() || sees(config_, own_, node)) continue;
    if (Status taken = returns_by_ ? take_from_running(node.id) : take_from(node.id, std::nullopt); !taken.ok())
      return taken;
  }
  return database_->engine().have_all();
}

Status ClusterNode::take_from(NodeNumber node, std::optional<epoch::Epoch> up_to) {
  const auto ask = [this](auto& question) { return peers_->ask(question); };
  RemoteFiles files(node, {.list = ask, .read = ask});
  return database_->engine().take_from(files, {.directory = RemoteFiles::kDirectory, .up_to = up_to});
}

/// Takes as much of the log as counted when this node began to come back, since its epochs begin behind that: a node
/// that was on its way then may serve by now, and write its log.
Status ClusterNode::take_from_running(NodeNumber node) {
  const std::optional<epoch::Epoch> up_to = counts_up_to(*returns_by_, node);
  constexpr std::uint64_t kMicroseconds = 1000;
  return take_from_when_it_runs(*membership_, node, options_.start_timeout_ms * kMicroseconds,
                                [&] { return take_from(node, up_to); });
}

Status take_from_when_it_runs(const membership::Membership& membership, NodeNumber node, std::uint64_t patience_us,
                              FunctionRef<Status()> take) {
  const auto lives = [node](const Configuration& found) { return found.lives(node); };
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(patience_us);
  for (Status taken;;) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - std::chrono::steady_clock::now());
    const bool runs = membership.wait_until(lives, static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0)));
    if (Status member = membership.status(); !member.ok()) return member;
    if (!runs) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} does not run, and its log may have writes of records of node {}, which cannot "
                                "come back without them: start node {}, too",
                                node, membership.node(), node));
    }
    if (!taken.ok() && left.count() <= 0) return taken;  // the node runs, but has not answered for all that time
    taken = take();
    if (taken.code() != StatusCode::kUnavailable) return taken;
  }
}

}  // namespace granary::db
