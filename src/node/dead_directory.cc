#include "src/node/dead_directory.h"

#include <fmt/format.h>

#include <string>

#include "cluster_config/membership/life.h"
#include "src/base/test_hooks.h"

namespace granary::db {

using membership::Configuration;
using membership::Owed;

namespace {

/// Whether the life found data in its directory, or served. A life that did neither may have died before it had made a
/// manifest.
bool had_data(const Configuration& known, const Owed& debt) {
  const membership::Member* const member = known.find(debt.node);
  return member != nullptr && member->data_life >= debt.generation && !base::injected("recover-without-data");
}

/// Returns an error if the directory does not know the life that owes something. A life notes itself in its directory
/// before anybody else learns of it, so such a directory has been exchanged for another. A recovery from it would free
/// locks of transactions that are decided.
Status check_directory(const Owed& debt, const std::string& directory, const RememberedLife& remembered) {
  const auto found = remembered(debt.node);
  if (!found.ok()) return found.status();
  if (*found >= debt.generation || base::injected("recover-from-older-copy")) return {};
  const std::string holds = *found == 0 ? "holds no data (is a volume not mounted?)"
                                        : fmt::format("has the data of its life {}, an older copy", *found);
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("its directory '{}' {}: put back what life {} left. If that is lost, end all nodes of the "
                            "cluster, then start all of them with --salvage",
                            directory, holds, debt.generation));
}

}  // namespace

Result<std::unique_ptr<DeadNode>> open_dead(const Configuration& known, const Owed& debt, const Options& options,
                                            const RememberedLife& remembered, base::FileSystem& files) {
  auto dead = DeadNode::open(options, files);
  const bool empty = dead.status().code() == StatusCode::kNotFound;
  if (!dead.ok() && !empty) return dead.status();
  if (empty && had_data(known, debt)) return membership::lost_data(fmt::format("'{}'", options.directory));
  if (Status other = check_directory(debt, options.directory, remembered); !other.ok()) return other;
  return empty ? Result(std::unique_ptr<DeadNode>()) : std::move(dead);
}

}  // namespace granary::db
