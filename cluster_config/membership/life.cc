#include "cluster_config/membership/life.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>

namespace granary::membership {
namespace {

constexpr std::string_view kServed = "has served\n";

std::string path_in(const std::string& directory) { return fmt::format("{}/{}", directory, kLifeName); }

std::string to_text(const Life& life) {
  return fmt::format("granary member 1\nnode {} of {}\ncluster {:016x}\ngeneration {}\n{}", life.node, life.cluster,
                     life.cluster_id, life.generation, life.served ? kServed : "");
}

/// False if it is not exactly what to_text() makes of some life.
bool parse(const std::string& text, Life& life) {
  constexpr std::size_t kRoom = 65;  // for a name, which has up to 64 characters
  char cluster[kRoom] = {};
  std::sscanf(text.c_str(), "granary member 1 node %" SCNu16 " of %64s cluster %16" SCNx64 " generation %" SCNu32,
              &life.node, cluster, &life.cluster_id, &life.generation);
  life.cluster = cluster;
  life.served = text.ends_with(kServed);
  return text == to_text(life);
}

}  // namespace

Result<Life> read_life(base::FileSystem& files, const std::string& directory, const std::string& cluster, NodeId node) {
  const Result<std::string> text = base::read_file(files, path_in(directory));
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return Life{};
  if (!text.ok()) return text.status();
  Life life;
  if (!parse(*text, life)) {
    return Status(StatusCode::kDamaged,
                  fmt::format("'{}' does not say whose data these are: restore it, as a node that takes another one's "
                              "for its own mixes the two",
                              path_in(directory)));
  }
  if (life.cluster == cluster && life.node == node) return life;
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("'{}' has the data of node {} of cluster '{}', not those of node {} of cluster '{}': "
                            "correct 'data_directory', or the name of the cluster",
                            directory, life.node, life.cluster, node, cluster));
}

Status write_life(base::FileSystem& files, const std::string& directory, const Life& life) {
  if (Status status = files.make_directory(directory); !status.ok()) return status;
  return base::replace_file(files, path_in(directory), to_text(life));
}

}  // namespace granary::membership
