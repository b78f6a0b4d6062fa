// Remote lookups in a real table, over a simulated fabric that tears what is READ: what they find, in how many READs,
// and that they neither miss what is there nor take a miss for valid once it is there.

#include "kvstore/remote/lookup.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "kvstore/remote/version_check.h"
#include "rdma/fiber/rounds.h"
#include "rdma/sim/sim_network.h"
#include "src/base/random.h"
#include "src/base/test_hooks.h"
#include "tests/kvstore/hash/table_fixture.h"

namespace granary::kvstore::remote {
namespace {

using hash::test::number_key;

/// Node 1 has the table, node 2 searches it.
class RemoteLookup : public testing::Test, private base::Waiter {
 protected:
  void open(std::uint64_t buckets) {
    owned_ = std::make_unique<hash::test::Fixture>(buckets);
    mine_ = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value();
    for (auto [node, region] :
         {std::pair<rdma::NodeId, memory::Region*>{1, owned_->pool.region.get()}, {2, mine_.get()}}) {
      fabrics_.push_back(network_.open_fabric({.node = node, .generation = 1}).value());
      ASSERT_TRUE(fabrics_.back()->register_region({.id = 1}, *region).ok());
      ASSERT_TRUE(fabrics_.back()->listen().ok());
    }
    endpoint_ = fabrics_[1]->open_endpoint().value();
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    ASSERT_TRUE(peers_->connect(1, 0).ok());
    shared_ = std::make_unique<rdma::fiber::FiberEndpoint>(*endpoint_);
    // The main header is what a fixture takes first of its region.
    table_ = {.main = {.node = 1, .region = 1, .generation = 1, .offset = 0},
              .buckets = buckets,
              .owner_base = reinterpret_cast<std::uint64_t>(owned_->pool.region->base())};
  }

  Lookup look_up(std::string_view key) {
    Lookup lookup(table_, key, mine_->base());
    scheduler_.spawn([&] { run(lookup); });
    scheduler_.run();
    return lookup;
  }
  VersionCheck::Outcome check(const Lookup& missed) {
    VersionCheck step(NodeKind::kBucket, missed.bucket(), missed.version(),
                      reinterpret_cast<std::uint64_t*>(mine_->base()));
    scheduler_.spawn([&] { run(step); });
    scheduler_.run();
    return step.outcome();
  }
  void run(rdma::fiber::Step& step) {
    rdma::fiber::FiberWaiter waiter(scheduler_);
    rdma::fiber::Rounds(scheduler_, *shared_, *peers_, waiter).run(step);
  }
  std::uint64_t offset_of(std::uint64_t number) const { return owned_->value(number) - table_.owner_base; }

  void pause(std::uint32_t) override { network_.step(); }

  std::unique_ptr<hash::test::Fixture> owned_;
  rdma::sim::SimNetwork network_{{.seed = 5, .tear = 40'000}};
  std::unique_ptr<memory::Region> mine_;
  std::vector<std::unique_ptr<rdma::Fabric>> fabrics_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  std::unique_ptr<rdma::fiber::FiberEndpoint> shared_;
  rdma::fiber::Scheduler scheduler_{[this] {
                                      shared_->poll();
                                      network_.step();
                                    },
                                    *this};
  RemoteTable table_;
};

TEST_F(RemoteLookup, FindsEveryKeyInAsManyReadsAsItsChainTakes) {
  open(16);
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(owned_->insert(number_key(i), i));
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::string key = number_key(i);
    const Lookup lookup = look_up(key);
    ASSERT_EQ(lookup.outcome(), LookupOutcome::kHit) << i;
    EXPECT_EQ(lookup.offset(), offset_of(i));
    EXPECT_EQ(lookup.reads(), owned_->table.reads_to_find(key));
  }
}

TEST_F(RemoteLookup, TellsTheIncarnation) {
  open(1);
  const std::string key = number_key(1);
  owned_->table.insert_if_absent(key, owned_->value(1), owned_->worker.memory, 77);
  EXPECT_EQ(look_up(key).incarnation(), 77u);
}

TEST_F(RemoteLookup, AMissIsValidUntilTheChainChanges) {
  open(2);
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(owned_->insert(number_key(i), i));
  const std::string key = number_key(1000);
  const Lookup missed = look_up(key);
  ASSERT_EQ(missed.outcome(), LookupOutcome::kMiss);
  EXPECT_GT(missed.reads(), 1u) << "through the chain";
  EXPECT_EQ(check(missed), VersionCheck::Outcome::kUnchanged);
  ASSERT_TRUE(owned_->insert(key, 1000));
  EXPECT_EQ(check(missed), VersionCheck::Outcome::kChanged);
}

TEST_F(RemoteLookup, LongKeysAreComparedByTheirNames) {
  open(1);
  for (const char* key : {"a longer key", "another key", "", "x"})
    ASSERT_TRUE(owned_->insert(key, std::string_view(key).size()));
  for (const std::string key : {"a longer key", "another key", "", "x"}) {
    const Lookup lookup = look_up(key);
    ASSERT_EQ(lookup.outcome(), LookupOutcome::kHit) << key;
    EXPECT_EQ(lookup.offset(), offset_of(key.size()));
    EXPECT_EQ(lookup.reads(), 3u);
  }
  EXPECT_EQ(look_up("a longer kex").outcome(), LookupOutcome::kMiss);
}

TEST_F(RemoteLookup, KeysWithTheSameFingerprintAreTold) {
  open(1);
  for (const char* key : {"first", "second", "third"}) ASSERT_TRUE(owned_->insert(key, std::string_view(key).size()));
  auto& bucket = *reinterpret_cast<hash::Bucket*>(owned_->pool.region->base());
  for (unsigned i = 0; i < hash::kSlots; ++i) {
    if (bucket.slot(i).key != 0) bucket.slot(i).key = hash::HashedKey("second").word;
  }
  EXPECT_EQ(look_up("second").offset(), offset_of(6));
  const std::string fourth = "fourth";
  EXPECT_EQ(look_up(fourth).outcome(), LookupOutcome::kMiss);
}

TEST_F(RemoteLookup, GivesUpOnAChainThatAlwaysChanges) {
  open(1);
  auto& line = reinterpret_cast<hash::Bucket*>(owned_->pool.region->base())->lines[1];
  base::store_word(&line.opened, 1);
  EXPECT_EQ(look_up(number_key(1)).outcome(), LookupOutcome::kBusy);
}

/// The owner's memory is damaged. A chain without a circle is followed to its end, however long it is.
TEST_F(RemoteLookup, GivesUpOnAChainThatLeadsBackToItself) {
  open(1);
  constexpr std::uint64_t kKeys = 100;
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(owned_->insert(number_key(i), i));
  const std::string absent = number_key(kKeys);
  const Lookup missed = look_up(absent);
  ASSERT_EQ(missed.outcome(), LookupOutcome::kMiss);
  ASSERT_GT(missed.reads(), 5u);
  std::vector<hash::Bucket*> chain;
  for (hash::Entry link(reinterpret_cast<std::uint64_t>(owned_->pool.region->base()) - table_.owner_base);;) {
    chain.push_back(reinterpret_cast<hash::Bucket*>(owned_->pool.region->base() + link.offset()));
    link = hash::Entry(chain.back()->link());
    if (link.type() != hash::EntryType::kHeader) break;
  }
  for (const std::size_t to : {std::size_t{2}, chain.size() - 1}) {
    chain.back()->link() = chain[to - 1]->link();
    EXPECT_EQ(look_up(absent).outcome(), LookupOutcome::kBusy)
        << "from the last bucket back to that with number " << to;
    EXPECT_EQ(look_up(number_key(0)).outcome(), LookupOutcome::kHit);
  }
}

TEST_F(RemoteLookup, TellsBrokenConnectionsAndEarlierLives) {
  open(1);
  table_.main.generation = 9;
  EXPECT_EQ(look_up("key").outcome(), LookupOutcome::kStale);
  table_.main.generation = 1;
  network_.lose_connections(1, 2);
  EXPECT_EQ(look_up("key").outcome(), LookupOutcome::kBroken);
}

/// The owner changes a chain, stopping in the middle, while lines are READ one by one.
class Changing : public RemoteLookup {
 protected:
  struct Key {
    bool present = false;
    unsigned changes = 0;  ///< odd while one is under way
  };

  /// Keys of one chain with the same home line, so that most are in another line or in an indirect header.
  void choose_keys(std::size_t count) {
    for (std::uint64_t i = 0; names_.size() < count; ++i) {
      const std::string key = i % 2 == 0 ? number_key(i) : "key number " + std::to_string(i);
      if (hash::Home(hash::HashedKey(key).word, 1).line == 1) names_.push_back(key);
    }
  }
  const std::string& key(std::uint64_t number) const { return names_[number]; }

  void change(std::uint64_t number) {
    Key& known = keys_[number];
    ++known.changes;
    if (known.present) {
      ASSERT_TRUE(owned_->table.remove(key(number), owned_->value(number), owned_->worker.memory));
    } else {
      ASSERT_TRUE(owned_->insert(key(number), number));
    }
    known.present = !known.present;
    ++known.changes;
    owned_->worker.rest();
  }
  void look(std::uint64_t number, void* buffer) {
    const Key& known = keys_[number];
    const unsigned before = known.changes;
    Lookup lookup(table_, key(number), buffer);
    run(lookup);
    busy_ += lookup.outcome() == LookupOutcome::kBusy ? 1 : 0;
    if (lookup.outcome() == LookupOutcome::kHit) {
      ASSERT_EQ(lookup.offset(), offset_of(number));
    }
    if (lookup.outcome() == LookupOutcome::kMiss) {
      const auto* bucket = reinterpret_cast<const hash::Bucket*>(owned_->pool.region->base());
      ASSERT_FALSE(hash::Table::unchanged(bucket, lookup.version()) && known.present)
          << "a miss stays valid, but the key is there";
    }
    if (before % 2 != 0 || known.changes != before || lookup.outcome() == LookupOutcome::kBusy) return;
    ASSERT_EQ(lookup.outcome() == LookupOutcome::kHit, known.present)
        << "key " << number << " did not change meanwhile";
  }

  std::vector<std::string> names_;
  std::map<std::uint64_t, Key> keys_;
  std::uint64_t busy_ = 0;
};

TEST_F(Changing, NothingTornIsAccepted) {
  constexpr std::uint64_t kKeys = 20;  // half of them there
  open(1);
  choose_keys(kKeys);
  base::Random random(11);
  base::set_sync_hook([&](std::string_view point) {
    if (!point.starts_with("hash.")) return;
    for (std::uint64_t turns = random.below(6); turns > 0; --turns) scheduler_.yield();
  });
  bool stop = false;
  scheduler_.spawn([&] {
    for (int i = 0; i < 10'000; ++i) {
      change(random.below(kKeys));
      for (std::uint64_t turns = random.below(60); turns > 0; --turns)
        scheduler_.yield();  // a look may end before the next
    }
    stop = true;
  });
  std::uint64_t looks = 0;
  for (unsigned fiber = 0; fiber < 4; ++fiber) {
    scheduler_.spawn([&, fiber] {
      for (; !stop && !HasFailure(); ++looks) look(random.below(kKeys), mine_->base() + std::uint64_t{4096} * fiber);
    });
  }
  scheduler_.run();
  base::set_sync_hook({});
  EXPECT_GT(looks, 1'000u);
  EXPECT_LT(busy_, looks / 4);
}

}  // namespace
}  // namespace granary::kvstore::remote
