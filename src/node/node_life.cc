#include "src/node/node_life.h"

#include <algorithm>
#include <utility>

#include "recovery/manifest.h"
#include "src/base/file.h"

namespace granary::db {

Result<membership::Life> read_life(const cluster_config::ClusterConfig& config, const cluster_config::NodeConfig& node,
                                   bool salvage) {
  if (node.data_directory.empty()) return membership::Life();
  auto life = membership::read_life(base::system_files(), node.data_directory, config.name, node.id);
  if (!life.ok() || life->generation != 0) return life;
  const auto manifest = recovery::read_manifest(base::system_files(), node.data_directory);
  if (!manifest.ok()) return manifest.status().code() == StatusCode::kNotFound ? life : manifest.status();
  if (!salvage) return membership::lost_life(node.data_directory);
  for (const recovery::Generation& generation : manifest->generations)
    life->generation = std::max(life->generation, generation.life);
  return life;
}

Status NodeLife::read(bool salvage) {
  auto life = read_life(config_, own_, salvage);
  if (!life.ok()) return life.status();
  former_ = std::move(life).value();
  served_ = former_.served;
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

Status NodeLife::note_joined(membership::Life life) const {
  if (own_.data_directory.empty()) return {};
  life.served = served_;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

Status NodeLife::note_served(const membership::Life& life) {
  if (served_) return {};
  served_ = true;
  return note_joined(life);
}

}  // namespace granary::db
