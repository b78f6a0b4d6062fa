#include "src/db/member_file.h"

#include <fmt/format.h>

#include "cluster_config/membership/life.h"

namespace granary::db {

Status check_member_file(base::FileSystem& files, const std::string& directory, const recovery::Manifest& manifest) {
  const auto life = membership::read_any_life(files, directory);
  if (!life.ok()) return life.status();
  const membership::Generation written = recovery::greatest_life(manifest);
  if (life->generation >= written) return {};
  if (*life != membership::Life{}) return membership::older_life(directory, life->generation, written);
  return {StatusCode::kDamaged,
          fmt::format("'{0}' has the data of a node of a cluster, but '{0}/{1}', which says of which one, is missing: "
                      "put it back; without those of the other nodes the data would not be whole",
                      directory, membership::kLifeName)};
}

}  // namespace granary::db
