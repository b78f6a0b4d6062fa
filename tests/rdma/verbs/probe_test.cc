// The start-up probe finds devices that do not do what the protocols assume. The devices are played by this processor.

#include "rdma/verbs/probe.h"

#include <atomic>

#include <gtest/gtest.h>

namespace granary::rdma::verbs {
namespace {

enum class Fault : std::uint8_t { kNone, kAtomicsAddWrong, kFailedSwapStores, kReadsDescend, kReadsTearWords };

std::atomic_ref<std::uint64_t> word(void* at) { return std::atomic_ref(*static_cast<std::uint64_t*>(at)); }

/// Does operations on this node's own region, with a fault.
class PlayedEndpoint final : public Endpoint {
 public:
  PlayedEndpoint(char* memory, Fault fault) : memory_(memory), fault_(fault) {}

  const Limits& limits() const override { return limits_; }
  Result<ConnectionId> connect(NodeId, std::uint64_t) override { return ConnectionId{0}; }
  void disconnect(ConnectionId) override {}
  Status status(ConnectionId) const override { return {}; }
  Generation peer_generation(ConnectionId) const override { return 1; }
  std::uint64_t peer_region_bytes(ConnectionId, RegionId) const override { return 0; }
  PostResult post(ConnectionId, std::span<const Operation> chain, Signal, std::uint64_t) override {
    for (const Operation& operation : chain) carry_out(operation, memory_ + operation.remote.offset);
    done_ = true;
    return PostResult::kPosted;
  }
  std::size_t poll(std::span<Completion>) override { return std::exchange(done_, false) ? 1 : 0; }
  BellId bell() const override { return 0; }
  PostResult ring(ConnectionId, BellId) override { return PostResult::kPosted; }
  bool sleep(std::uint64_t) override { return true; }
  void rouse() override {}

 private:
  void carry_out(const Operation& operation, char* remote) {
    auto* const local = static_cast<std::uint64_t*>(operation.local);
    switch (operation.kind) {
      case OperationKind::kRead: read(local, remote, operation.bytes / 8); break;
      case OperationKind::kWrite: break;
      case OperationKind::kCompareSwap:
        *local = word(remote).load();
        if (*local == operation.operand)
          word(remote).store(operation.desired);
        else if (fault_ == Fault::kFailedSwapStores)
          word(remote).store(*local);
        break;
      case OperationKind::kFetchAdd:
        *local = word(remote).fetch_add(operation.operand + (fault_ == Fault::kAtomicsAddWrong ? 1 : 0));
        break;
    }
  }
  void read(std::uint64_t* local, char* remote, std::size_t words) const {
    for (std::size_t i = 0; i < words; ++i) {
      const std::size_t n = fault_ == Fault::kReadsDescend ? words - 1 - i : i;
      local[n] = word(remote + 8 * n).load();
      if (fault_ == Fault::kReadsTearWords) {
        const std::uint64_t later = word(remote + 8 * n).load();
        local[n] = (local[n] & 0xffff'ffffu) | (later >> 32 << 32);
      }
    }
  }

  char* const memory_;
  const Fault fault_;
  const Limits limits_{};
  bool done_ = false;
};

class PlayedFabric final : public Fabric {
 public:
  PlayedFabric(char* memory, Fault fault) : memory_(memory), fault_(fault) {}
  const NodeOptions& node() const override { return node_; }
  std::string_view provider() const override { return "played"; }
  Status register_region(const RegionSpec&, memory::Region&) override { return {}; }
  Status listen() override { return {}; }
  Result<std::unique_ptr<Endpoint>> open_endpoint() override {
    return std::unique_ptr<Endpoint>(std::make_unique<PlayedEndpoint>(memory_, fault_));
  }
  Status cut_off(NodeId, Generation) override { return {}; }

 private:
  char* const memory_;
  const Fault fault_;
  const NodeOptions node_{};
};

Status probe_with(Fault fault, bool tolerant = false) {
  const auto own = OwnRegion::map().value();
  PlayedFabric fabric(own->region().base(), fault);
  return probe(fabric, *own, tolerant);
}

/// A fault that needs a moment's race is found in one of a few probes.
Status probe_until_found(Fault fault) {
  Status status;
  for (int tries = 0; status.ok() && tries < 100; ++tries) status = probe_with(fault);
  return status;
}

TEST(Probe, LetsADevicePassThatDoesWhatIsAssumed) {
  const Status status = probe_with(Fault::kNone);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Probe, FindsEachFault) {
  const std::pair<Fault, std::string> cases[] = {{Fault::kAtomicsAddWrong, "wrong results"},
                                                 {Fault::kFailedSwapStores, "stores back"},
                                                 {Fault::kReadsDescend, "ascending order"},
                                                 {Fault::kReadsTearWords, "tears words"}};
  for (const auto& [fault, part] : cases) {
    const Status status = probe_until_found(fault);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

TEST(Probe, ToleratesStoresOfFailedSwapsIfToldTo) { EXPECT_TRUE(probe_with(Fault::kFailedSwapStores, true).ok()); }

}  // namespace
}  // namespace granary::rdma::verbs
