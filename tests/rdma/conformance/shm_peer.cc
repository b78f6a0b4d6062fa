// A peer of the shm provider; its last argument is the run directory.

#include "rdma/shm/shm_fabric.h"
#include "tests/rdma/conformance/peer_process.h"

int main(int count, char** arguments) {
  using namespace granary::rdma;
  return conformance::run_peer(count, arguments, [](const NodeOptions& node, const std::vector<std::string>& rest) {
    return shm::open_shm_fabric({.node = node, .run_directory = rest.at(0)});
  });
}
