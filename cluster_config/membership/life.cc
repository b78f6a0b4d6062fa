#include "cluster_config/membership/life.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>

#include "src/base/crc32c.h"

namespace granary::membership {
namespace {

constexpr std::string_view kServed = "has served\n";

std::string path_in(const std::string& directory) { return fmt::format("{}/{}", directory, kLifeName); }

std::string to_text(const Life& life) {
  const std::string text = fmt::format("granary member 2\nnode {} of {}\ncluster {:016x}\ngeneration {}\n{}", life.node,
                                       life.cluster, life.cluster_id, life.generation, life.served ? kServed : "");
  return text + fmt::format("crc32c {:08x}\n", base::crc32c(0, text.data(), text.size()));
}

/// Reads a life. Returns false if the text is not exactly what to_text() makes of some life.
bool parse(const std::string& text, Life& life) {
  constexpr std::size_t kRoom = 65;  // room for a name, which has up to 64 characters
  char cluster[kRoom] = {};
  std::sscanf(text.c_str(), "granary member 2 node %" SCNu16 " of %64s cluster %16" SCNx64 " generation %" SCNu32,
              &life.node, cluster, &life.cluster_id, &life.generation);
  life.cluster = cluster;
  life.served = text.find(fmt::format("\n{}", kServed)) != std::string::npos;
  return text == to_text(life);
}

}  // namespace

Result<Life> read_any_life(base::FileSystem& files, const std::string& directory) {
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
  return life;
}

Result<Life> read_life(base::FileSystem& files, const std::string& directory, const std::string& cluster, NodeId node) {
  const Result<Life> read = read_any_life(files, directory);
  if (!read.ok() || *read == Life{}) return read;
  const Life& life = *read;
  if (life.cluster == cluster && life.node == node) return life;
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("'{}' has the data of node {} of cluster '{}', not those of node {} of cluster '{}', as its "
                  "{} says: correct 'data_directory', or the name of the cluster",
                  directory, life.node, life.cluster, node, cluster, kLifeName));
}

Status lost_life(const std::string& directory) {
  return Status(StatusCode::kDamaged,
                fmt::format("'{}' has data, but '{}', which says of which node and which of its lives, is missing: put "
                            "it back. If it is lost, --salvage (Options::salvage) takes the data for this node's",
                            directory, path_in(directory)));
}

Status older_life(const std::string& directory, Generation told, Generation written) {
  return Status(
      StatusCode::kDamaged,
      fmt::format("'{}' tells of the node's life {}, but life {} has written to the data in '{}': it is older "
                  "than they are. Put back the one that belongs to them. If that is lost, --salvage "
                  "(Options::salvage) takes the data for this node's",
                  path_in(directory), told, written, directory));
}

Status older_data(NodeId node, const std::string& place, Generation found, Generation newest, std::string_view board) {
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format(
          "the data of node {} in '{}' are of its life {}, but by {} it has had life {} since: they are an older copy, "
          "without what was committed since. Put the newer ones back. If these are lost, or all nodes go back to "
          "backups, --salvage (Options::salvage) on every node starts with what is there",
          node, place, found, board, newest));
}

Status lost_data(const std::string& whose) {
  return Status(
      StatusCode::kDamaged,
      fmt::format("{} holds no data, but the cluster has served with some there: mount or restore it. If the node "
                  "is new to the cluster file, or they are lost, --salvage (Options::salvage) on every node "
                  "starts the cluster without them",
                  whose));
}

Status write_life(base::FileSystem& files, const std::string& directory, const Life& life) {
  if (Status status = files.make_directory(directory); !status.ok()) return status;
  return base::replace_file(files, path_in(directory), to_text(life));
}

}  // namespace granary::membership
