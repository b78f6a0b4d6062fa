// A peer of the verbs provider.

#include "rdma/verbs/verbs_fabric.h"
#include "tests/rdma/conformance/peer_process.h"
#include "tests/rdma/conformance/verbs_nodes.h"

int main(int count, char** arguments) {
  using namespace granary::rdma;
  return conformance::run_peer(count, arguments, [](const NodeOptions& node, const std::vector<std::string>&) {
    return verbs::open_verbs_fabric(conformance::verbs_options(node));
  });
}
