#include "src/db/dead_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "recovery/dead_log.h"

namespace granary::db {
namespace {

/// Whether the log has been ended, by the node itself or by a recovery, or there was none.
bool is_over(const recovery::Manifest& manifest) {
  return manifest.generations.empty() || manifest.generations.back().cut;
}

/// Whether nothing is owed because a recovery has ended the generation, or because there was none.
bool has_been_ended(const recovery::Manifest& manifest) {
  return manifest.generations.empty() || manifest.generations.back().end;
}

/// Returns an error if it is not known what the node held at other nodes. A node that has noted the end of its log owes
/// nothing, and neither does one that came back and was never let in, whatever has become of their rings.
Status check_rings(Storage& storage) {
  const recovery::Manifest& manifest = storage.manifest().now();
  const recovery::SurvivingRings& rings = storage.recovery().log().rings;
  const recovery::Generation& last = manifest.generations.back();
  const bool original = !manifest.boot.empty();
  if (!rings.rings.empty() || (original && (last.cut || last.is_empty()))) return {};
  const auto boot = recovery::boot_id();
  if (!boot.ok()) return boot.status();
  const bool same_boot = original && manifest.boot == *boot;
  std::string cause = "the machine was started anew";
  if (same_boot) cause = rings.note;
  if (manifest.boot.empty()) cause = "the directory is a copy, or was moved";
  return {
      StatusCode::kFailedPrecondition,
      fmt::format("what the dead node of '{}' held at other nodes is not known, as its log rings are not there: {}. "
                  "It cannot be recovered while others go on. End all nodes of the cluster, then start all of "
                  "them: they go back to what is durable on all",
                  manifest.residence ? manifest.residence->directory : "", cause)};
}

/// Reads the debts from the last segments of the log. They have all that is needed, unless a lock has been waiting for
/// longer; then the whole log is scanned.
Result<std::vector<log::Debt>> read_debts(Storage& storage, base::FileSystem& files) {
  const recovery::Manifest& manifest = storage.manifest().now();
  auto debts = recovery::read_debts(files, manifest, storage.recovery().log());
  if (debts.status().code() != StatusCode::kNotFound) return debts;
  if (const Status surveyed = storage.survey_whole(); !surveyed.ok()) return surveyed;
  return recovery::read_debts(files, manifest, storage.recovery().log());
}

}  // namespace

Result<std::unique_ptr<DeadNode>> DeadNode::open(const Options& options, base::FileSystem& files) {
  // Storage::open() would make a new database if there is none, so the manifest must be there.
  const auto manifest = recovery::read_manifest(files, options.directory);
  if (!manifest.ok()) return manifest.status();
  Options whole = options;
  whole.salvage = false;
  auto storage = Storage::open(whole, files, {.recovers_all = true, .recent_log_only = true});
  if (!storage.ok()) return storage.status();
  const recovery::Manifest& now = (*storage)->manifest().now();
  if (is_over(now)) {
    // The process that wrote this manifest, the node's own or a recoverer's, may have died, or met an error, before it
    // was on the device. The node does not count as recovered before that.
    if (const Status secured = recovery::secure_manifest(files, options.directory); !secured.ok()) return secured;
  }
  if (has_been_ended(now)) return std::unique_ptr<DeadNode>(new DeadNode(std::move(*storage), {}));
  if (const Status there = check_rings(**storage); !there.ok()) return there;
  auto debts = read_debts(**storage, files);
  if (!debts.ok()) return debts.status();
  return std::unique_ptr<DeadNode>(new DeadNode(std::move(*storage), std::move(*debts)));
}

std::uint32_t DeadNode::life() const {
  const auto& generations = storage_->manifest().now().generations;
  const auto begun = std::find_if(generations.rbegin(), generations.rend(),
                                  [](const recovery::Generation& generation) { return !generation.end; });
  return begun == generations.rend() ? 0 : begun->life;
}

std::uint64_t DeadNode::ring_bytes() const {
  if (!storage_->recovery().log_state().running) return 0;
  std::uint64_t bytes = 0;
  for (const auto& ring : storage_->recovery().log().rings.rings) bytes += ring->pending().size();
  return bytes;
}

Status DeadNode::adopt(epoch::Epoch first_epoch) {
  if (!storage_->recovery().log_state().running) return {};
  const epoch::Epoch behind = storage_->recovery().log().scan.greatest_epoch + 1;
  const Status ended = storage_->end(std::nullopt, std::max(first_epoch, behind));
  if (ended.ok()) debts_.clear();
  return ended;
}

}  // namespace granary::db
