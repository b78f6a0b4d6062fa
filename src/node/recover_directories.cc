#include "src/node/recover_directories.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "cluster_config/membership/life.h"
#include "recovery/manifest.h"
#include "src/base/notice.h"
#include "src/db/cluster_recovery.h"

namespace granary::db {
namespace {

using Clock = std::chrono::steady_clock;

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }
/// Rests between attempts that read logs.
void rest_long() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

/// Locks the file; returns kUnavailable if another process has it until `end`.
Result<std::unique_ptr<base::File>> lock_in_time(const std::string& path, Clock::time_point end,
                                                 base::FileSystem& files) {
  for (;; rest()) {
    auto locked = files.lock(path);
    const bool taken = !locked.ok() && locked.status().code() == StatusCode::kUnavailable;
    if (!taken || Clock::now() > end) return locked;
  }
}

/// Returns the manifest of the node's directory; an empty one if there is none.
Result<recovery::Manifest> manifest_of(const Options& node, base::FileSystem& files) {
  auto manifest = recovery::read_manifest(files, node.directory);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) return recovery::Manifest();
  return manifest;
}

enum class LastGeneration : std::uint8_t {
  kEnded,        ///< it was ended, in order or by a recovery, or there is none
  kInterrupted,  ///< it has no end, and no process has the directory
  kNeverLetIn,   ///< the same, and it is empty, as its node ended before it was let in
  kBegun,        ///< the life that the node lives now has begun it, and has the directory
};

/// Finds out what has become of the node's last generation. If a former life still has the directory, it waits for that
/// to end, since before that nobody can tell how far the log counts.
Result<LastGeneration> last_generation(const NodeDirectory& node, Clock::time_point end, base::FileSystem& files) {
  for (;; rest()) {
    const auto manifest = manifest_of(node.options, files);
    if (!manifest.ok()) return manifest.status();
    if (manifest->generations.empty() || manifest->generations.back().cut) return LastGeneration::kEnded;
    const auto free = files.lock(fmt::format("{}/{}", node.options.directory, recovery::kLockName));
    if (free.ok())
      return manifest->generations.back().is_empty() ? LastGeneration::kNeverLetIn : LastGeneration::kInterrupted;
    if (free.status().code() != StatusCode::kUnavailable) return free.status();
    const std::uint32_t life = manifest->generations.back().life;
    if (life == node.life_now()) return LastGeneration::kBegun;
    if (Clock::now() > end) {
      return Status(
          StatusCode::kUnavailable,
          fmt::format("'{}' is still in use by a former process of its node (life {}), which serves no more: end "
                      "that process, and start again",
                      node.options.directory, life));
    }
  }
}

Status check_present(std::span<const NodeDirectory> nodes, base::FileSystem& files) {
  if (std::none_of(nodes.begin(), nodes.end(), [](const NodeDirectory& node) { return node.served; })) return {};
  for (const NodeDirectory& node : nodes) {
    if (node.options.directory.empty() || node.options.salvage) continue;
    const auto manifest = recovery::read_manifest(files, node.options.directory);
    if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound)
      return membership::lost_data(fmt::format("'{}'", node.options.directory));
  }
  return {};
}

/// Returns the directories whose logs a recovery has to end, or agree with; none if no generation was interrupted.
///
/// Nodes that have begun and wait for this one keep their directories, and are left out. The first of them had
/// recovered all before it began, and none of them has a transaction before this node has come as well: no member
/// served when this one joined (Membership::enter). So no transaction has been at two nodes since then, and the logs
/// that are ended here need not agree with those on anything.
///
/// The log of a node that was never let in is empty, and agrees with all others. If there are only such logs to end,
/// other directories are not needed, which nodes may be opening now.
Result<std::vector<Options>> logs_to_end(std::span<const NodeDirectory> nodes, Clock::time_point end,
                                         base::FileSystem& files) {
  std::vector<Options> all, empty;
  bool agrees = true;
  for (const NodeDirectory& node : nodes) {
    const auto found = last_generation(node, end, files);
    if (!found.ok()) return found.status();
    agrees &= *found != LastGeneration::kInterrupted;
    if (*found == LastGeneration::kNeverLetIn) empty.push_back(node.options);
    if (*found != LastGeneration::kBegun) all.push_back(node.options);
  }
  return agrees ? std::move(empty) : std::move(all);
}

/// Recovers the cluster if a generation was interrupted. It waits for a process that has a directory which is needed.
/// Mostly that process is about to end: it came back to nodes that serve, and none of them does any more. But it may
/// also load its own log, which it has ended, while another node was killed after it had been let in.
Status recover_if_interrupted(std::span<const NodeDirectory> nodes, Clock::time_point end, base::FileSystem& files) {
  for (;; rest_long()) {
    const auto logs = logs_to_end(nodes, end, files);
    if (!logs.ok()) return logs.status();
    if (logs->empty()) return {};
    const auto recovered = recover_cluster(*logs, files);
    if (recovered.status().code() == StatusCode::kUnavailable && Clock::now() <= end) continue;
    if (!recovered.ok()) return recovered.status();
    for (const std::string& note : recovered->notes)
      base::tell(nodes.front().options.notices, {.topic = NoticeTopic::kRecovery, .text = note});
    return {};
  }
}

}  // namespace

Result<epoch::Epoch> recover_directories(std::span<const NodeDirectory> nodes, const std::string& lock,
                                         std::uint64_t timeout_ms, base::FileSystem& files) {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto alone = lock_in_time(lock, end, files);
  if (!alone.ok()) return alone.status();
  if (const Status there = check_present(nodes, files); !there.ok()) return there;
  if (const Status recovered = recover_if_interrupted(nodes, end, files); !recovered.ok()) return recovered;
  epoch::Epoch first_epoch = 1;
  for (const NodeDirectory& node : nodes) {
    const auto manifest = manifest_of(node.options, files);
    if (!manifest.ok()) return manifest.status();
    first_epoch = std::max(first_epoch, recovery::greatest_epoch(*manifest) + 1);
  }
  return first_epoch;
}

}  // namespace granary::db
