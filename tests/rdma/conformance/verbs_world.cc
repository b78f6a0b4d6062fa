// The suite over RDMA devices, Soft-RoCE in a virtual machine: peers are processes of their own, on this machine, or on
// another one, if there is one.

#include <chrono>
#include <optional>
#include <thread>

#include "rdma/verbs/verbs_fabric.h"
#include "tests/rdma/conformance/peer_machine.h"
#include "tests/rdma/conformance/verbs_nodes.h"

namespace granary::rdma::conformance {
namespace {

class VerbsWorld final : public World {
 public:
  VerbsWorld() {
    const std::string other = machine_setting("VM_PEER");
    if (other != machine_setting("VM_ADDRESS")) machine_.emplace(other.c_str());
  }
  std::unique_ptr<Fabric> open_fabric(const NodeOptions& node) override {
    auto fabric = verbs::open_verbs_fabric(verbs_options(node));
    EXPECT_TRUE(fabric.ok()) << fabric.status().message();
    return std::move(fabric).value();
  }
  void start_peer(const NodeOptions& node) override { start(node, ""); }
  void start_worker(const NodeOptions& node) override { start(node, "worker"); }
  void start_zombie(const NodeOptions& node) override { start(node, "zombie"); }
  bool cutting_kills() const override { return false; }
  void kill_peer(NodeId node) override {
    if (machine_) return machine_->ask("kill " + std::to_string(node));
    peers_.kill(node);
  }
  void stop_peer(NodeId node) override {
    if (machine_) return machine_->ask("stop " + std::to_string(node));
    peers_.signal(node, SIGSTOP);
  }
  void resume_peer(NodeId node) override {
    if (machine_) return machine_->ask("resume " + std::to_string(node));
    peers_.signal(node, SIGCONT);
  }

  void advance() override { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
  std::uint64_t now_us() const override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }
  /// The emulated kernel takes its time to end a process with its devices: a tenth of a second, more on a busy machine.
  std::uint64_t death_notice_us() const override { return 5'000'000; }

 private:
  void start(const NodeOptions& node, const std::string& role) {
    if (machine_) return machine_->start(node, role);
    peers_.start(node, role.empty() ? std::vector<std::string>{} : std::vector{role});
  }

  std::optional<PeerMachine> machine_;
  PeerProcesses peers_{PEER_PROGRAM};
};

}  // namespace

std::unique_ptr<World> make_world() { return std::make_unique<VerbsWorld>(); }

}  // namespace granary::rdma::conformance
