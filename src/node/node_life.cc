#include "src/node/node_life.h"

#include <fmt/format.h>

#include <utility>

#include "recovery/manifest.h"
#include "recovery/user.h"
#include "src/base/file.h"
#include "src/node/prepare_directories.h"

namespace granary::db {

/// Reads the manifest first: a node that starts meanwhile writes its MEMBER before its manifest tells of that life.
Result<membership::Life> read_life(const cluster_config::ClusterConfig& config, const cluster_config::NodeConfig& node,
                                   bool salvage) {
  const std::string& directory = node.data_directory;
  if (directory.empty()) return membership::Life();
  const auto manifest = recovery::read_manifest(base::system_files(), directory);
  auto life = membership::read_life(base::system_files(), directory, config.name, node.id);
  if (!life.ok() || manifest.status().code() == StatusCode::kNotFound) return life;
  if (!manifest.ok()) return manifest.status();
  const bool lost = *life == membership::Life{};
  const membership::Generation written = recovery::greatest_life(*manifest);
  if (!lost && life->generation >= written) return life;
  if (!salvage)
    return lost ? membership::lost_life(directory) : membership::older_life(directory, life->generation, written);
  life->generation = written;
  return life;
}

Status NodeLife::read(bool salvage) {
  if (!own_.data_directory.empty()) {
    if (const Status own = recovery::check_user(base::system_files(), own_.data_directory); !own.ok()) return own;
  }
  auto life = read_life(config_, own_, salvage);
  if (!life.ok()) return life.status();
  former_ = std::move(life).value();
  served_ = former_.served;
  finds_data_ =
      !own_.data_directory.empty() &&
      recovery::read_manifest(base::system_files(), own_.data_directory).status().code() != StatusCode::kNotFound;
  return finds_data_ || salvage || own_.data_directory.empty() ? Status() : check_present();
}

/// Looks for a node on this host whose data tell that the cluster has served. A directory that cannot be read is
/// skipped, because its own node says what is wrong with it.
Status NodeLife::check_present() const {
  for (const cluster_config::NodeConfig& other : config_.nodes) {
    if (other.id == own_.id || other.data_directory.empty() || !sees(config_, own_, other)) continue;
    const auto theirs = read_life(config_, other, /*salvage=*/false);
    if (theirs.ok() && theirs->served) return membership::lost_data(fmt::format("'{}'", own_.data_directory));
  }
  return {};
}

Status NodeLife::note_begun(membership::Generation generation) const {
  if (own_.data_directory.empty()) return {};
  membership::Life life = former_;
  life.cluster = config_.name;
  life.node = own_.id;
  life.generation = generation;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

/// A start at a new board may come to nothing: it may have been told to one node alone, or the board is the wrong one.
/// So the data belong to the former cluster id until the cluster has served with them at the new board.
Status NodeLife::note_joined(membership::Life life) const {
  if (own_.data_directory.empty()) return {};
  if (former_.cluster_id != 0) life.cluster_id = former_.cluster_id;
  life.served = served_;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

void NodeLife::take_back() const {
  const std::string& directory = own_.data_directory;
  if (directory.empty() || finds_data_ || former_ != membership::Life{}) return;
  base::FileSystem& files = base::system_files();
  if (recovery::read_manifest(files, directory).status().code() != StatusCode::kNotFound) return;
  if (files.remove(fmt::format("{}/{}", directory, membership::kLifeName)).ok()) (void)files.sync_directory(directory);
}

Status NodeLife::note_served(const membership::Life& life) {
  if (served_ && life.cluster_id == former_.cluster_id) return {};
  membership::Life served = life;
  served.served = true;
  if (!own_.data_directory.empty()) {
    if (Status written = membership::write_life(base::system_files(), own_.data_directory, served); !written.ok())
      return written;
  }
  served_ = true;
  former_.cluster_id = life.cluster_id;
  return {};
}

}  // namespace granary::db
