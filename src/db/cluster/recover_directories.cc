#include "src/db/cluster/recover_directories.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "recovery/manifest.h"
#include "src/db/cluster_recovery.h"

namespace granary::db {
namespace {

Result<std::unique_ptr<base::File>> lock_in_time(const std::string& path, std::uint64_t timeout_ms,
                                                 base::FileSystem& files) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    auto locked = files.lock(path);
    const bool taken = !locked.ok() && locked.status().code() == StatusCode::kUnavailable;
    if (!taken || std::chrono::steady_clock::now() > end) return locked;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Of a directory that is there; an empty one else.
Result<recovery::Manifest> manifest_of(const Options& node, base::FileSystem& files) {
  auto manifest = recovery::read_manifest(files, node.directory);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) return recovery::Manifest();
  return manifest;
}

/// Whether the node has stopped without an end: nobody has its directory, and its last generation has none.
Result<bool> interrupted(const Options& node, base::FileSystem& files) {
  const auto manifest = manifest_of(node, files);
  if (!manifest.ok()) return manifest.status();
  if (manifest->generations.empty() || manifest->generations.back().cut) return false;
  const auto free = files.lock(fmt::format("{}/{}", node.directory, recovery::kLockName));
  if (!free.ok() && free.status().code() != StatusCode::kUnavailable) return free.status();
  return free.ok();
}

Status recover_if_interrupted(std::span<const Options> nodes, base::FileSystem& files) {
  bool any = false;
  for (const Options& node : nodes) {
    const auto found = interrupted(node, files);
    if (!found.ok()) return found.status();
    any |= *found;
  }
  if (!any) return {};
  const auto recovered = recover_cluster(nodes, files);
  if (!recovered.ok()) return recovered.status();
  for (const std::string& note : recovered->notes) std::fprintf(stderr, "granary: %s\n", note.c_str());
  return {};
}

}  // namespace

Result<epoch::Epoch> recover_directories(std::span<const Options> nodes, const std::string& lock,
                                         std::uint64_t timeout_ms, base::FileSystem& files) {
  const auto alone = lock_in_time(lock, timeout_ms, files);
  if (!alone.ok()) return alone.status();
  if (const Status recovered = recover_if_interrupted(nodes, files); !recovered.ok()) return recovered;
  epoch::Epoch first_epoch = 1;
  for (const Options& node : nodes) {
    const auto manifest = manifest_of(node, files);
    if (!manifest.ok()) return manifest.status();
    first_epoch = std::max(first_epoch, recovery::greatest_epoch(*manifest) + 1);
  }
  return first_epoch;
}

}  // namespace granary::db
