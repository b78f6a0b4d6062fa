// The packed words and key slices that nodes are made of. Not covered here: their use in nodes (model_test.cc).

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kvstore/ordered/key.h"
#include "kvstore/ordered/permutation.h"
#include "kvstore/ordered/version.h"

namespace granary::kvstore::ordered {
namespace {

TEST(Permutation, FollowsAVector) {
  std::mt19937 random(1);
  std::vector<unsigned> model;
  Permutation order = Permutation::ascending(0);
  for (int i = 0; i < 20000; ++i) {
    if (model.size() < 15 && (model.empty() || random() % 2 == 0)) {
      const unsigned rank = random() % (model.size() + 1);
      model.insert(model.begin() + rank, order.free_slot());
      order = order.with_insert(rank);
    } else {
      const unsigned rank = random() % model.size();
      model.erase(model.begin() + rank);
      order = order.with_remove(rank);
    }
    ASSERT_TRUE(order.valid());
    ASSERT_EQ(order.count(), model.size());
    for (unsigned rank = 0; rank < model.size(); ++rank) {
      ASSERT_EQ(order.slot(rank), model[rank]);
      ASSERT_EQ(order.rank_of(model[rank]), rank);
    }
    for (unsigned slot = 0; slot < 15; ++slot) {
      ASSERT_EQ(order.holds(slot), std::find(model.begin(), model.end(), slot) != model.end());
    }
  }
}

TEST(LayerKey, PositionsOrderAsTheKeysDo) {
  std::mt19937 random(2);
  const auto short_key = [&] {
    std::string key(random() % 9, '\0');
    for (char& c : key) c = static_cast<char>(random() % 3 == 0 ? 255 : random() % 2);
    return key;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string a = short_key(), b = short_key();
    ASSERT_EQ(LayerKey(a).at < LayerKey(b).at, a < b);
    ASSERT_EQ(LayerKey(a).at == LayerKey(b).at, a == b);
  }
}

TEST(LayerKey, LongKeysComeBehindTheirSlice) {
  EXPECT_TRUE(LayerKey("12345678").at < LayerKey("123456789").at);
  EXPECT_EQ(LayerKey("123456789").at, LayerKey("12345678abc").at);
  EXPECT_EQ(LayerKey("12345678abc").suffix(), "abc");
  EXPECT_TRUE(LayerKey(std::string(9, '\xff')).at < kBeyondPosition);
  EXPECT_EQ(LayerKey("").at, kFirstPosition);
}

TEST(LayerKey, SlicesRoundTrip) {
  char bytes[8];
  store_slice(bytes, load_slice("abcdefgh"));
  EXPECT_EQ(std::string_view(bytes, 8), "abcdefgh");
  EXPECT_EQ(load_slice("a"), std::uint64_t{'a'} << 56);
}

TEST(NodeVersion, LockIsNoChangeButDirtyIs) {
  NodeVersion version(NodeVersion::kLeaf);
  const NodeVersion::Word seen = version.stable();
  ASSERT_TRUE(version.try_lock_at(seen));
  EXPECT_FALSE(version.try_lock_at(seen));
  EXPECT_TRUE(version.still(seen));
  version.begin_change();
  EXPECT_FALSE(version.still(seen));
  version.end_change(NodeVersion::kOneShape);
  version.unlock();
  EXPECT_FALSE(version.still(seen));
  EXPECT_EQ(NodeVersion::key_set(seen), NodeVersion::key_set(version.load()));
  version.lock();
  version.end_change(NodeVersion::kOneKey);
  version.unlock();
  EXPECT_NE(NodeVersion::key_set(seen), NodeVersion::key_set(version.load()));
}

}  // namespace
}  // namespace granary::kvstore::ordered
