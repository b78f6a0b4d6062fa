// Members of one host, which meet in a run directory.

#include <filesystem>

#include "cluster_config/membership/local/local_board.h"
#include "tests/cluster_config/membership/world.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

class LocalWorld final : public World {
 public:
  Result<std::unique_ptr<Board>> open() override { return open_local_board(directory_.path(), timeout_us()); }
  /// In one step: members may be writing into it.
  void wipe() override { std::filesystem::rename(directory_ / "membership", directory_ / "wiped"); }

 private:
  const granary::tests::TemporaryDirectory directory_;
};

}  // namespace

std::unique_ptr<World> make_world() { return std::make_unique<LocalWorld>(); }

}  // namespace granary::membership::tests
