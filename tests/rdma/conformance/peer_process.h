#pragma once
// A peer in a process of its own, started anew (not forked from the test): PROGRAM NODE GENERATION LAYOUT KEY
// ARGUMENT..., where KEY is the first byte of a key that is zero otherwise.

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/rdma/conformance/mail_worker.h"
#include "tests/rdma/conformance/world.h"
#include "tests/rdma/conformance/zombie.h"
#include "tests/support/crash_child.h"

namespace granary::rdma::conformance {

/// The test's side: peers by node.
class PeerProcesses {
 public:
  explicit PeerProcesses(std::string program) : program_(std::move(program)) {}

  /// False if it does not say that it is ready.
  bool start(const NodeOptions& node, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {program_, std::to_string(node.node), std::to_string(node.generation),
                                        std::to_string(node.layout), std::to_string(node.key[0])};
    command.insert(command.end(), arguments.begin(), arguments.end());
    children_[node.node] = std::make_unique<tests::CrashChild>(command);
    const bool ready = children_[node.node]->run_until("ready");
    EXPECT_TRUE(ready) << "node " << node.node << " did not start";
    return ready;
  }
  void kill(NodeId node) { children_.at(node)->kill(); }
  void signal(NodeId node, int number) { children_.at(node)->signal(number); }

 private:
  const std::string program_;
  std::map<NodeId, std::unique_ptr<tests::CrashChild>> children_;
};

/// Works for node 1 until the process is killed.
inline void work(Fabric& fabric, memory::Region& region) {
  MailWorker* self = nullptr;
  MailWorker worker(
      fabric, region, [&](std::string_view request) { return answer_of_peer(self, request); }, kPatience_us);
  self = &worker;
  if (!worker.join(1, kPatience_us).ok()) return;
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::uint32_t turn = 0; true;) {
    if (worker.step(0)) {
      turn = 0;
    } else {
      worker.sleeper().pause(turn++);
    }
  }
}

/// The peer's side, its main(): opens a fabric, offers the region, says so, and waits to be killed; with the last
/// argument "worker" or "zombie", it works as that does. `open` gets the node and the arguments after KEY.
template <typename Open>
int run_peer(int count, char** arguments, Open&& open) {
  if (count < 5) return 2;
  NodeOptions node{.node = static_cast<NodeId>(std::atoi(arguments[1])),
                   .generation = static_cast<Generation>(std::atoi(arguments[2])),
                   .layout = std::strtoull(arguments[3], nullptr, 10)};
  node.key[0] = static_cast<std::uint8_t>(std::atoi(arguments[4]));
  auto region = memory::Region::map({.reserve_bytes = kPeerBytes, .huge_pages = HugePages::kOff, .shared = true});
  Result<std::unique_ptr<Fabric>> fabric = open(node, std::vector<std::string>(arguments + 5, arguments + count));
  Status status = fabric.status();
  if (status.ok()) status = (*fabric)->register_region({.id = kPeerRegion}, **region);
  if (status.ok()) status = (*fabric)->listen();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  if (std::string_view(arguments[count - 1]) == "worker") {
    work(**fabric, **region);
    return 1;
  }
  std::printf("ready\n");
  std::fflush(stdout);
  if (std::string_view(arguments[count - 1]) == "zombie") {
    Zombie zombie(**fabric, **region);
    while (true) zombie.step();
  }
  while (true) ::pause();
}

}  // namespace granary::rdma::conformance
