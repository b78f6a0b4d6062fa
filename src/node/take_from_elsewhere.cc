// The last part of the recovery of nodes that do not see each other's directories: a node takes what is its own from the others' logs, by
// messages. Nodes that start together do it all at once. One that comes back does it while others serve, of whose logs it reads as much as
// they had when they became quiet.

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "src/db/engine.h"
#include "src/node/cluster_node.h"
#include "src/node/prepare_directories.h"
#include "src/node/remote_files.h"

namespace granary::db {

using membership::Configuration;
using membership::Member;
using membership::MemberState;

bool ClusterNode::takes_from_elsewhere() const { return !sees_all(config_, own_) && cluster_config::has_logs(config_); }

Status ClusterNode::take_from_elsewhere() {
  if (!takes_from_elsewhere()) return {};
  for (const auto& node : config_.nodes) {
    if (own_.data_directory.empty() || node.data_directory.empty() || sees(config_, own_, node)) continue;
    if (Status taken = membership_->rejoined() ? take_from_running(node.id) : take_from(node.id, std::nullopt);
        !taken.ok())
      return taken;
  }
  return database_->engine().have_all();
}

Status ClusterNode::take_from(NodeNumber node, std::optional<epoch::Epoch> up_to) {
  const auto ask = [this](auto& question) { return peers_->ask(question); };
  RemoteFiles files(node, {.list = ask, .read = ask});
  return database_->engine().take_from(files, {.directory = RemoteFiles::kDirectory, .up_to = up_to});
}

/// All of the node's log counts if it does not serve, and what it had when it became quiet if it does. A node that has ended is waited
/// for, as nobody else has its log.
Status ClusterNode::take_from_running(NodeNumber node) {
  std::optional<epoch::Epoch> up_to;
  const auto can_tell = [&](const Configuration& found) {
    const Member* const member = found.find(node);
    if (member == nullptr || !member->live()) return false;
    const bool serves = member->state == MemberState::kServing;
    up_to = serves ? std::optional(member->quiet.epoch) : std::nullopt;
    return !serves || member->quiet.logged;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - std::chrono::steady_clock::now());
    const bool told = left.count() > 0 && membership_->wait_until(can_tell, static_cast<std::uint64_t>(left.count()));
    if (Status member = membership_->status(); !member.ok()) return member;
    if (!told) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} does not run, and its log may have writes of records of node {}, which cannot "
                                "come back without them: start node {}, too",
                                node, own_.id, node));
    }
    Status taken = take_from(node, up_to);
    if (taken.code() != StatusCode::kUnavailable) return taken;
  }
}

}  // namespace granary::db
