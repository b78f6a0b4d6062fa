// The checks of a chain before it is posted: every way to be refused, and the edges of what is allowed.

#include "rdma/region_table.h"

#include <vector>

#include <gtest/gtest.h>

namespace granary::rdma {
namespace {

constexpr Limits kLimits{.outstanding = 8, .chain_length = 2, .inline_bytes = 0, .operation_bytes = 4096};
constexpr std::uint64_t kPeerBytes = 1024;

class CheckChain : public testing::Test {
 protected:
  CheckChain()
      : region_(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value()),
        peer_(2, 7) {
    EXPECT_TRUE(local_.add({.id = 1}, *region_).ok());
    peer_.add(3, kPeerBytes);
  }

  RemoteAddress at(std::uint64_t offset) const { return {.node = 2, .region = 3, .generation = 7, .offset = offset}; }
  PostResult check(const Operation& operation) const { return check_chain({&operation, 1}, kLimits, local_, peer_); }
  PostResult read(RemoteAddress from, std::uint32_t bytes) const {
    return check(Operation::read(region_->base(), from, bytes));
  }
  std::uint64_t* word() const { return reinterpret_cast<std::uint64_t*>(region_->base()); }

  std::unique_ptr<memory::Region> region_;
  LocalRegions local_;
  PeerRegions peer_;
};

TEST_F(CheckChain, TakesWhatFitsExactly) {
  EXPECT_EQ(read(at(0), kPeerBytes), PostResult::kPosted);
  EXPECT_EQ(read(at(kPeerBytes - 8), 8), PostResult::kPosted);
  EXPECT_EQ(check(Operation::read(region_->base() + region_->size() - 8, at(0), 8)), PostResult::kPosted);
  EXPECT_EQ(check(Operation::compare_swap(at(8), 1, 2, word())), PostResult::kPosted);
}

TEST_F(CheckChain, RefusesAddressesOutsideTheRegion) {
  EXPECT_EQ(read(at(kPeerBytes), 8), PostResult::kInvalidRemote);
  EXPECT_EQ(read(at(kPeerBytes - 8), 16), PostResult::kInvalidRemote);
  EXPECT_EQ(read(at(~std::uint64_t{7}), 16), PostResult::kInvalidRemote) << "the sum wraps around";
  EXPECT_EQ(check(Operation::fetch_add(at(kPeerBytes), 1, word())), PostResult::kInvalidRemote);
}

TEST_F(CheckChain, RefusesOtherNodesRegionsAndGenerations) {
  EXPECT_EQ(read({.node = 1, .region = 3, .generation = 7}, 8), PostResult::kInvalidRemote);
  EXPECT_EQ(read({.node = 2, .region = 4, .generation = 7}, 8), PostResult::kInvalidRemote);
  EXPECT_EQ(read({.node = 2, .region = 3, .generation = 6}, 8), PostResult::kStale);
}

TEST_F(CheckChain, RefusesLocalMemoryThatIsNotRegistered) {
  alignas(8) std::uint64_t elsewhere = 0;
  EXPECT_EQ(check(Operation::read(&elsewhere, at(0), 8)), PostResult::kInvalidLocal);
  EXPECT_EQ(check(Operation::read(region_->base() + region_->size() - 8, at(0), 16)), PostResult::kInvalidLocal);
  EXPECT_EQ(check(Operation::write(at(0), region_->base() - 8, 16)), PostResult::kInvalidLocal);
}

TEST_F(CheckChain, RefusesBadShapes) {
  EXPECT_EQ(check_chain({}, kLimits, local_, peer_), PostResult::kInvalidChain);
  const std::vector<Operation> long_chain(3, Operation::read(region_->base(), at(0), 8));
  EXPECT_EQ(check_chain(long_chain, kLimits, local_, peer_), PostResult::kInvalidChain);
  EXPECT_EQ(read(at(0), 0), PostResult::kInvalidChain);
  EXPECT_EQ(read(at(0), 12), PostResult::kInvalidChain);
  EXPECT_EQ(read(at(4), 8), PostResult::kInvalidChain);
  EXPECT_EQ(read(at(0), kLimits.operation_bytes + 8), PostResult::kInvalidChain);
  EXPECT_EQ(check(Operation::read(region_->base() + 1, at(0), 8)), PostResult::kInvalidChain);
  EXPECT_EQ(read(at(3), 1), PostResult::kInvalidChain);
  EXPECT_EQ(check(Operation::write(at(3), region_->base() + 5, 1)), PostResult::kPosted);
  EXPECT_EQ(check(Operation::write(at(kPeerBytes), region_->base(), 1)), PostResult::kInvalidRemote);
  Operation wide = Operation::fetch_add(at(0), 1, word());
  wide.bytes = 16;
  EXPECT_EQ(check(wide), PostResult::kInvalidChain);
}

TEST_F(CheckChain, OneBadOperationRefusesTheWholeChain) {
  const Operation good = Operation::read(region_->base(), at(0), 8);
  const Operation chain[] = {good, Operation::read(region_->base(), at(kPeerBytes), 8)};
  EXPECT_EQ(check_chain(chain, kLimits, local_, peer_), PostResult::kInvalidRemote);
}

TEST_F(CheckChain, ARegionIdIsTakenOnce) {
  EXPECT_EQ(local_.add({.id = 1}, *region_).code(), StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace granary::rdma
