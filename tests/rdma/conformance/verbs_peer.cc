// A peer of the verbs provider. With the argument "agent", what starts and ends peers for a test on another machine
// (peer_machine.h); with "end" and that machine's address, what ends the agent.

#include "rdma/verbs/verbs_fabric.h"
#include "tests/rdma/conformance/peer_machine.h"
#include "tests/rdma/conformance/verbs_nodes.h"

int main(int count, char** arguments) {
  using namespace granary::rdma;
  if (count == 2 && std::string_view(arguments[1]) == "agent") return conformance::run_agent(arguments[0]);
  if (count == 3 && std::string_view(arguments[1]) == "end") return conformance::end_agent(arguments[2]);
  return conformance::run_peer(count, arguments, [](const NodeOptions& node, const std::vector<std::string>&) {
    return verbs::open_verbs_fabric(conformance::verbs_options(node));
  });
}
