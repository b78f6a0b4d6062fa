// The seeds by which the sessions of a workload's clients draw their pauses.

#include "bench/store/store_workload.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace granary::bench::store {
namespace {

std::multiset<std::uint64_t> seeds;

/// Only notes with which seeds its sessions are made.
struct SeenStore {
  struct Session {
    explicit Session(std::uint64_t seed) { seeds.insert(seed); }
    std::unique_ptr<Session> beside(std::uint64_t seed) { return std::make_unique<Session>(seed); }
    void run_together(std::uint32_t, FunctionRef<void(std::uint32_t)>) {}
    void collect() {}
  };
  Result<std::unique_ptr<Session>> session(std::uint64_t seed) { return std::make_unique<Session>(seed); }
  StoreFigures figures() const { return {}; }
};

class SeenClient : public StoreClient<SeenStore> {
 public:
  using StoreClient::StoreClient;
  Request run_one() override { return {}; }
};

class SeenWorkload : public StoreWorkload<SeenStore> {
 public:
  explicit SeenWorkload(const NodeShare& share)
      : StoreWorkload([]() -> Result<std::unique_ptr<SeenStore>> { return std::make_unique<SeenStore>(); }, share, 7) {
    EXPECT_TRUE(open_store().ok());
  }
  Status load(unsigned, Progress&) override { return {}; }
  std::string name() const override { return "seen"; }
  std::vector<std::string> transaction_types() const override { return {"none"}; }
  double scale_factor() const override { return 1; }
  std::uint64_t estimated_bytes() const override { return 0; }
  std::uint64_t load_units() const override { return 0; }

 protected:
  std::unique_ptr<Client> client_on(std::unique_ptr<Session> session, std::uint32_t) override {
    return std::make_unique<SeenClient>(std::move(session));
  }
};

TEST(StoreWorkload, NoTwoClientsOfAClusterDrawTheSamePauses) {
  seeds.clear();
  constexpr std::uint32_t kNodes = 3, kWorkers = 4, kTogether = 2;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    SeenWorkload workload({.node = node, .nodes = kNodes, .in_cluster = true});
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker)
      EXPECT_EQ(workload.make_clients(worker, kTogether)->size(), kTogether);
  }
  EXPECT_EQ(seeds.size(), kNodes * kWorkers * kTogether);
  for (const std::uint64_t seed : seeds) EXPECT_EQ(seeds.count(seed), 1u) << seed;
}

}  // namespace
}  // namespace granary::bench::store
