// Covers the middle of two keys, and the cutting of ranges of real trees: nothing lost, nothing twice.

#include "recovery/checkpoint/key_range.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "kvstore/ordered/tree.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::recovery::checkpoint {
namespace {

std::string random_key(std::mt19937_64& random) {
  // Few letters and lengths: many common prefixes, prefixes of each other, zeros and 0xff.
  static constexpr char kLetters[] = {'\0', '\1', 'a', '\xff'};
  std::string key(random() % 20, '\0');
  for (char& letter : key) letter = kLetters[random() % std::size(kLetters)];
  return key;
}

TEST(Middle, LiesBehindTheLowerAndNotBehindTheUpperKey) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < tests::scaled(100'000); ++i) {
    std::string a = random_key(random);
    std::string b = random_key(random);
    if (a > b) std::swap(a, b);
    const auto at = middle(a, b);
    if (!at) continue;
    ASSERT_GT(*at, a);
    ASSERT_LE(*at, b);
  }
}

TEST(Middle, HalvesNumbers) {
  EXPECT_EQ(middle(std::string("\x00\x10", 2), std::string("\x00\x20", 2)), std::string("\x00\x18", 2));
  EXPECT_EQ(middle("common a", "common c"), "common b");
  EXPECT_EQ(middle("\xf0", "\xff"), "\xf7\x80");
  EXPECT_EQ(middle("same", "same"), std::nullopt);
  EXPECT_EQ(middle("a", std::string("a\0", 2)), std::nullopt);
}

class Keys final : public kvstore::ordered::ScanVisitor {
 public:
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view key, kvstore::ordered::Value) override {
    keys.emplace_back(key);
    return true;
  }
  std::vector<std::string> keys;
};

class SplitTest : public testing::Test {
 protected:
  void insert(const std::string& key) { tree_.insert_if_absent(key, 8, nodes_); }

  std::vector<std::string> keys_of(const KeyRange& range) {
    Keys found;
    tree_.scan(range.bounds(), kvstore::ordered::Direction::kForward, found);
    return found.keys;
  }

  /// Cuts until nothing can be cut, then compares with the tree.
  std::size_t cut_all() {
    epochs_.enter(*slot_);
    std::vector<KeyRange> open{*whole_range(tree_)};
    std::vector<std::string> seen;
    std::size_t ranges = 0;
    while (!open.empty()) {
      KeyRange range = std::move(open.back());
      open.pop_back();
      if (auto upper = split(tree_, &range)) {
        EXPECT_FALSE(keys_of(*upper).empty());
        EXPECT_FALSE(keys_of(range).empty());
        open.push_back(std::move(*upper));
        open.push_back(std::move(range));
        continue;
      }
      ++ranges;
      for (std::string& key : keys_of(range)) seen.push_back(std::move(key));
    }
    Keys all;
    tree_.scan({}, kvstore::ordered::Direction::kForward, all);
    epochs_.leave(*slot_);
    EXPECT_EQ(seen, all.keys);
    return ranges;
  }

  std::unique_ptr<memory::Region> region_ =
      memory::Region::map({.reserve_bytes = std::uint64_t{64} << 20, .huge_pages = HugePages::kOff}).value();
  memory::SlabPool pool_{*region_, {}};
  epoch::EpochManager epochs_{{}};
  memory::SlabCache slabs_{pool_};
  kvstore::NodeMemory nodes_{slabs_, epochs_};
  kvstore::ordered::Tree tree_{nodes_};
  epoch::Slot* const slot_ = epochs_.acquire_slot();
};

TEST_F(SplitTest, EmptyTreeHasNoRange) { EXPECT_FALSE(whole_range(tree_)); }

TEST_F(SplitTest, OneKeyIsNotCut) {
  insert("");
  EXPECT_EQ(cut_all(), 1U);
}

TEST_F(SplitTest, RandomKeysAreEachInOneRange) {
  for (const std::uint64_t seed : tests::seeds(tests::scaled(20), 0)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 50; ++i) insert(random_key(random));
    cut_all();
  }
}

TEST_F(SplitTest, LongCommonPrefixesInTwoClustersAreCutToSingleKeys) {
  for (const char* cluster : {"A", "B"}) {
    for (int i = 0; i < 100; ++i) insert(cluster + std::string(300, 'x') + std::to_string(i));
  }
  EXPECT_EQ(cut_all(), 200U);
}

TEST_F(SplitTest, CutsAboutInTheMiddle) {
  for (int i = 0; i < 1000; ++i) insert(std::string({char(i >> 8), char(i)}));
  KeyRange range = *whole_range(tree_);
  const auto upper = split(tree_, &range);
  ASSERT_TRUE(upper);
  EXPECT_NEAR(static_cast<double>(keys_of(*upper).size()), 500, 2);
}

}  // namespace
}  // namespace granary::recovery::checkpoint
