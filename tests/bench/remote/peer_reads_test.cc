// Lookups in the tables of other systems: that each key is found, in as many READs as its table says, and no other key.
// READs are copies out of the owner's region here. Not covered: READs that others' changes tear, but for a slot that is
// damaged; how fast lookups are.

#include "bench/remote/peer_reads.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/hash/cuckoo.h"
#include "bench/remote/owned_table.h"

namespace granary::bench::remote {
namespace {

constexpr std::uint64_t kKeys = 20'000;
constexpr std::uint32_t kValueBytes = 24;

class PeerReads : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = OwnedTable::make({.keys = kKeys, .value_bytes = kValueBytes, .peers = true});
    ASSERT_TRUE(made.ok()) << made.status().message();
    owned_ = std::move(made).value();
    buffer_.resize(4096);
  }

  char* at(const rdma::RemoteAddress& address) { return owned_->region().base() + address.offset; }

  /// Runs the step to its end. False if it did not come to one.
  bool run(PeerRead& step) {
    std::vector<rdma::Operation> chain;
    for (unsigned round = 0; round < 1000; ++round) {
      chain.clear();
      step.append(chain);
      for (const rdma::Operation& read : chain) std::memcpy(read.local, at(read.remote), read.bytes);
      if (step.interpret() == rdma::fiber::Next::kEnded) return true;
    }
    return false;
  }

  /// How many keys took how many READs; all must be found.
  template <typename Read>
  std::map<unsigned, std::uint64_t> reads(const PeerTable& table) {
    std::map<unsigned, std::uint64_t> found;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      Read step(table, tables().ours, key, buffer_.data());
      EXPECT_TRUE(run(step));
      EXPECT_EQ(step.outcome(), cluster::AccessOutcome::kDone) << "key " << key;
      ++found[step.reads()];
    }
    return found;
  }

  template <typename Read>
  cluster::AccessOutcome outcome(const PeerTable& table, std::uint64_t key) {
    Read step(table, tables().ours, key, buffer_.data());
    EXPECT_TRUE(run(step));
    return step.outcome();
  }

  const Tables& tables() const { return owned_->tables(); }

  std::unique_ptr<OwnedTable> owned_;
  std::vector<char> buffer_;
};

TEST_F(PeerReads, CuckooLooksAtUpToThreeSlotsAndTheRecord) {
  const auto found = reads<CuckooRead>(tables().peers.cuckoo);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found.begin()->first, 2u);
  EXPECT_EQ(found.rbegin()->first, 4u);
}

TEST_F(PeerReads, HopscotchReadsANeighbourhoodOrAChainAsWell) {
  const auto found = reads<HopscotchRead>(tables().peers.hopscotch);
  EXPECT_EQ(found.begin()->first, 2u);
  EXPECT_GT(found.begin()->second, kKeys * 98 / 100);
  EXPECT_GT(found.at(3), 0u) << "keys of chains";
}

TEST_F(PeerReads, ValuesInTheSlotsSaveTheReadOfTheRecord) {
  const PeerTable& table = tables().peers.inlined;
  const auto found = reads<HopscotchRead>(table);
  EXPECT_EQ(found.begin()->first, 1u);
  EXPECT_GT(found.at(2), 0u) << "keys of chains";
  const std::uint64_t key = 7;
  ASSERT_EQ(outcome<HopscotchRead>(table, key), cluster::AccessOutcome::kDone);
  std::string slot(reinterpret_cast<const char*>(&key), sizeof key);
  const std::string copy(buffer_.data(), HopscotchRead::buffer_bytes(table));
  const std::size_t place = copy.find(slot);
  ASSERT_NE(place, std::string::npos);
  EXPECT_EQ(copy.substr(place + sizeof(HopscotchSlot), kValueBytes), std::string(kValueBytes, 'v'));
}

TEST_F(PeerReads, OtherKeysAreMissing) {
  for (std::uint64_t key = kKeys; key < kKeys + 1000; ++key) {
    EXPECT_EQ(outcome<CuckooRead>(tables().peers.cuckoo, key), cluster::AccessOutcome::kMissing);
    EXPECT_EQ(outcome<HopscotchRead>(tables().peers.hopscotch, key), cluster::AccessOutcome::kMissing);
    EXPECT_EQ(outcome<HopscotchRead>(tables().peers.inlined, key), cluster::AccessOutcome::kMissing);
  }
}

TEST_F(PeerReads, ACuckooSlotThatIsTornCountsAsBeingChanged) {
  const PeerTable& table = tables().peers.cuckoo;
  const std::uint64_t key = 3;
  at(table.slot(hash::Cuckoo::place(key, 0, kPeerSeed, table.slots)))[offsetof(CuckooSlot, entry)] ^= 1;
  EXPECT_EQ(outcome<CuckooRead>(table, key), cluster::AccessOutcome::kBusy);
}

}  // namespace
}  // namespace granary::bench::remote
