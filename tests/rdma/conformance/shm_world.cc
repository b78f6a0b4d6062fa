// The suite over shared memory: peers are processes of their own.

#include <chrono>
#include <thread>

#include "rdma/shm/shm_fabric.h"
#include "tests/rdma/conformance/peer_process.h"
#include "tests/support/temporary_directory.h"

namespace granary::rdma::conformance {
namespace {

class ShmWorld final : public World {
 public:
  std::unique_ptr<Fabric> open_fabric(const NodeOptions& node) override {
    auto fabric = shm::open_shm_fabric({.node = node, .run_directory = directory_.path()});
    EXPECT_TRUE(fabric.ok()) << fabric.status().message();
    return std::move(fabric).value();
  }
  void start_peer(const NodeOptions& node) override { peers_.start(node, {directory_.path()}); }
  void start_worker(const NodeOptions& node) override { peers_.start(node, {directory_.path(), "worker"}); }
  void start_zombie(const NodeOptions& node) override { peers_.start(node, {directory_.path(), "zombie"}); }
  bool cutting_kills() const override { return true; }
  void kill_peer(NodeId node) override { peers_.kill(node); }
  void stop_peer(NodeId node) override { peers_.signal(node, SIGSTOP); }
  void resume_peer(NodeId node) override { peers_.signal(node, SIGCONT); }

  void advance() override { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
  std::uint64_t now_us() const override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }
  std::uint64_t death_notice_us() const override { return 10'000; }

 private:
  const tests::TemporaryDirectory directory_;
  PeerProcesses peers_{PEER_PROGRAM};
};

}  // namespace

std::unique_ptr<World> make_world() { return std::make_unique<ShmWorld>(); }

}  // namespace granary::rdma::conformance
