// READs of leaves of a real tree, over a simulated fabric that tears what is READ: a leaf that has split, is gone, is
// being changed, or whose block is another leaf's is never taken for what was remembered, and what is read belongs to
// the version.

#include "kvstore/remote/leaf_read.h"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kvstore/ordered/node.h"
#include "kvstore/remote/version_check.h"
#include "rdma/fiber/rounds.h"
#include "rdma/sim/sim_network.h"
#include "src/base/random.h"
#include "tests/kvstore/ordered/tree_fixture.h"

namespace granary::kvstore::remote {
namespace {

using ordered::LayerKey;
using ordered::Tree;
using ordered::Value;
using Outcome = LeafRead::Outcome;

std::string key_of(std::uint64_t number) {
  char bytes[8];
  ordered::store_slice(bytes, number);
  return {bytes, sizeof bytes};
}
Value value_of(std::uint64_t number) { return 16 * (number + 1); }
Position at(std::uint64_t number) { return LayerKey(key_of(number)).at; }

/// Node 1 has the tree, node 2 READs its leaves. value_of() says what keys have.
class LeafReading : public testing::Test, private base::Waiter {
 protected:
  LeafReading() : mine_(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value()) {
    for (auto [node, region] : {std::pair<rdma::NodeId, memory::Region*>{1, pool_.region.get()}, {2, mine_.get()}}) {
      fabrics_.push_back(network_.open_fabric({.node = node, .generation = 1}).value());
      EXPECT_TRUE(fabrics_.back()->register_region({.id = 1}, *region).ok());
      EXPECT_TRUE(fabrics_.back()->listen().ok());
    }
    endpoint_ = fabrics_[1]->open_endpoint().value();
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    EXPECT_TRUE(peers_->connect(1, 0).ok());
    shared_ = std::make_unique<rdma::fiber::FiberEndpoint>(*endpoint_);
  }

  void insert(std::uint64_t number) {
    EXPECT_EQ(tree_.insert_if_absent(key_of(number), value_of(number), worker_.memory).what,
              ordered::InsertResult::What::kInserted);
  }
  void remove(std::uint64_t number) { EXPECT_TRUE(tree_.remove(key_of(number), value_of(number), worker_.memory)); }
  /// As the owner tells it.
  KnownLeaf known(std::uint64_t number) const {
    const ordered::Leaf* const leaf = tree_.find(key_of(number)).leaf;
    return {.range = Tree::range_of(leaf).value(),
            .offset = static_cast<std::uint64_t>(reinterpret_cast<const char*>(leaf) - pool_.region->base())};
  }
  rdma::RemoteAddress address(const KnownLeaf& leaf) const {
    return {.node = 1, .region = 1, .generation = 1, .offset = leaf.offset};
  }
  LeafRead read(const KnownLeaf& leaf) {
    LeafRead step(address(leaf), leaf, mine_->base());
    scheduler_.spawn([&] { run(step); });
    scheduler_.run();
    return step;
  }
  VersionCheck::Outcome check(const KnownLeaf& leaf, ordered::Version version) {
    VersionCheck step(NodeKind::kLeaf, address(leaf), version, reinterpret_cast<std::uint64_t*>(mine_->base()));
    scheduler_.spawn([&] { run(step); });
    scheduler_.run();
    return step.outcome();
  }
  void run(rdma::fiber::Step& step) {
    rdma::fiber::FiberWaiter waiter(scheduler_);
    rdma::fiber::Rounds(scheduler_, *shared_, *peers_, waiter).run(step);
  }
  void pause(std::uint32_t) override { network_.step(); }

  ordered::test::Pool pool_;
  ordered::test::Worker worker_{pool_};
  Tree tree_{worker_.memory};
  std::function<void()> meanwhile_ = [] {};
  rdma::sim::SimNetwork network_{{.seed = 5, .tear = 40'000}};
  std::unique_ptr<memory::Region> mine_;
  std::vector<std::unique_ptr<rdma::Fabric>> fabrics_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  std::unique_ptr<rdma::fiber::FiberEndpoint> shared_;
  rdma::fiber::Scheduler scheduler_{[this] {
                                      shared_->poll();
                                      network_.step();
                                      meanwhile_();
                                    },
                                    *this};
};

TEST_F(LeafReading, FindsWhatIsThereAndMissesWhatIsNot) {
  for (std::uint64_t i = 1; i < 200; i += 2) insert(i);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const LeafRead leaf = read(known(i));
    ASSERT_EQ(leaf.outcome(), Outcome::kRead);
    ASSERT_TRUE(leaf.copy().covers(at(i)));
    EXPECT_EQ(leaf.copy().find(at(i)).value, i % 2 != 0 ? value_of(i) : 0);
    EXPECT_EQ(leaf.copy().version(), tree_.find(key_of(i)).version);
  }
}

TEST_F(LeafReading, InsertsAndRemovalsLeaveALeafWhereItIs) {
  insert(10);
  const KnownLeaf leaf = known(10);
  insert(11);
  remove(10);
  const LeafRead now = read(leaf);
  ASSERT_EQ(now.outcome(), Outcome::kRead);
  EXPECT_EQ(now.copy().find(at(10)).value, 0u);
  EXPECT_EQ(now.copy().find(at(11)).value, value_of(11));
}

TEST_F(LeafReading, AMissIsValidUntilAnInsert) {
  insert(10);
  const KnownLeaf leaf = known(10);
  const ordered::Version version = read(leaf).copy().version();
  EXPECT_EQ(check(leaf, version), VersionCheck::Outcome::kUnchanged);
  insert(11);
  EXPECT_EQ(check(leaf, version), VersionCheck::Outcome::kChanged);
}

TEST_F(LeafReading, ALeafThatHasSplitCoversLess) {
  for (std::uint64_t i = 0; i < 15; ++i) insert(10 * i);
  const KnownLeaf leaf = known(140);
  insert(55);
  const LeafRead now = read(leaf);
  ASSERT_EQ(now.outcome(), Outcome::kRead);
  EXPECT_FALSE(now.copy().covers(at(140)));
  EXPECT_TRUE(now.copy().covers(at(0)));
}

TEST_F(LeafReading, KeysThatGoOnAreNotThere) {
  tree_.insert_if_absent(key_of(5) + "more", 16, worker_.memory);
  insert(5);
  const LeafRead leaf = read(known(5));
  ASSERT_EQ(leaf.copy().count(), 2u);
  EXPECT_EQ(leaf.copy().find(at(5)).value, value_of(5));
  EXPECT_FALSE(leaf.copy().entry(0).found.deeper);
  EXPECT_TRUE(leaf.copy().entry(1).found.deeper);
  tree_.insert_if_absent(key_of(5) + "another", 32, worker_.memory);
  EXPECT_EQ(Tree::range_of(tree_.find(key_of(5) + "more").leaf).has_value(), false) << "of a deeper layer";
}

TEST_F(LeafReading, ALeafThatIsDeletedIsGone) {
  for (std::uint64_t i = 0; i < 40; ++i) insert(i);
  const KnownLeaf leaf = known(39);
  const ordered::Leaf* const there = tree_.find(key_of(39)).leaf;
  for (std::uint64_t i = 39; tree_.find(key_of(i)).leaf == there; --i) remove(i);
  EXPECT_EQ(read(leaf).outcome(), Outcome::kGone);
  EXPECT_FALSE(Tree::range_of(there).has_value());
}

/// A block that is used again is another leaf's, of this tree or of another one, or an interior node's.
TEST_F(LeafReading, AnotherLeafInTheSamePlaceIsToldApart) {
  Tree other(worker_.memory);
  std::set<std::uint64_t> former;
  std::vector<KnownLeaf> remembered;
  for (std::uint64_t i = 0; i < 400; ++i) insert(i);
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (former.insert(known(i).offset).second) remembered.push_back(known(i));
  }
  remembered.erase(remembered.begin());  // the first one stays
  for (std::uint64_t i = 0; i < 400; ++i) remove(i);
  worker_.drain();
  std::uint64_t used_again = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    other.insert_if_absent(key_of(i), 32, worker_.memory);
    const auto* const leaf = reinterpret_cast<const char*>(other.find(key_of(i)).leaf);
    used_again += former.count(static_cast<std::uint64_t>(leaf - pool_.region->base()));
  }
  EXPECT_GT(used_again, 100u) << "or the test tests nothing";
  for (const KnownLeaf& leaf : remembered) EXPECT_EQ(read(leaf).outcome(), Outcome::kGone);
}

TEST_F(LeafReading, GivesUpOnALeafThatAlwaysChanges) {
  insert(5);
  const KnownLeaf leaf = known(5);
  auto* const version = reinterpret_cast<std::atomic<std::uint64_t>*>(pool_.region->base() + leaf.offset);
  *version |= 2;  // dirty
  EXPECT_EQ(read(leaf).outcome(), Outcome::kBusy);
  *version &= ~std::uint64_t{2};
}

/// I26: whatever another process has in its memory, nothing outside of the copy is looked at, and nothing is asserted.
TEST_F(LeafReading, NonsenseDoesNoHarm) {
  base::Random random(1);
  unsigned whole = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    alignas(base::kCacheLine) std::array<std::uint64_t, ordered::LeafCopy::kBytes / base::kWord> words;
    for (std::uint64_t& word : words) word = random.chance(0.1) ? 0 : random.next();
    // Behind the version and the parent comes the permutation.
    if (random.chance(0.5)) words[2] = ordered::Permutation::ascending(random.next() % 16).word();
    const std::uint64_t version =
        random.chance(0.5) ? ordered::NodeVersion::kLeaf | ordered::NodeVersion::kTop : random.next();
    const ordered::LeafCopy copy(version, words.data(), version);
    if (copy.state(copy.range().birth) != ordered::LeafCopy::State::kWhole) continue;
    ++whole;
    ASSERT_LE(copy.count(), ordered::LeafCopy::kMostEntries);
    for (unsigned rank = 0; rank < copy.count(); ++rank) (void)copy.entry(rank);
    if (copy.covers(at(i))) (void)copy.find(at(i));
  }
  EXPECT_GT(whole, 1'000u);
}

/// Keys come in an order in which one that is missing proves that it was READ at an earlier moment than others.
TEST_F(LeafReading, WhatIsReadWasThereAtOnce) {
  std::uint64_t next = 1, torn = 0;
  insert(1'000'000);
  meanwhile_ = [&] {
    if (++torn % 3 != 0 || next % 13 == 0) return;
    insert(1000 - next++);  // in front of all that are there
  };
  for (unsigned i = 0; i < 300; ++i) {
    if (next % 13 == 0) {
      while (next > 1) remove(1000 - --next);
    }
    const LeafRead leaf = read(known(1'000'000));
    if (leaf.outcome() != Outcome::kRead) continue;
    const ordered::LeafCopy copy = leaf.copy();
    for (unsigned rank = 0; rank + 1 < copy.count(); ++rank) {
      const ordered::LeafCopy::At entry = copy.entry(rank);
      ASSERT_EQ(entry.found.value, value_of(entry.position.slice)) << "of two moments";
      const bool is_last = rank + 2 == copy.count();
      ASSERT_TRUE(is_last || copy.entry(rank + 1).position.slice == entry.position.slice + 1) << "of two moments";
    }
  }
}

}  // namespace
}  // namespace granary::kvstore::remote
