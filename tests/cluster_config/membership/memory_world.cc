// Members that are objects of one process.

#include "cluster_config/membership/memory_board.h"
#include "tests/cluster_config/membership/world.h"

namespace granary::membership::tests {
namespace {

class MemoryWorld final : public World {
 public:
  Result<std::unique_ptr<Board>> open() override {
    return std::unique_ptr<Board>(std::make_unique<MemoryBoard>(place_));
  }
  void wipe() override { place_->wipe(); }

 private:
  const std::shared_ptr<MemoryPlace> place_ = std::make_shared<MemoryPlace>();
};

}  // namespace

std::unique_ptr<World> make_world() { return std::make_unique<MemoryWorld>(); }

}  // namespace granary::membership::tests
