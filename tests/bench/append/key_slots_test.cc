// Which lists and elements the clients of several nodes are given, who tell each other nothing.

#include "bench/append/key_slots.h"

#include <array>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "bench/append/node_lives.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench::append {
namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kSlots = 2 * kNodes;
constexpr std::uint32_t kLength = 4;

class SlotsOfNodes : public testing::Test {
 protected:
  std::array<KeySlots, kNodes> nodes_{KeySlots{kSlots, kLength, {0, kNodes}}, KeySlots{kSlots, kLength, {1, kNodes}},
                                      KeySlots{kSlots, kLength, {2, kNodes}}};
};

TEST_F(SlotsOfNodes, GiveEachElementOnceAndKeepListsShort) {
  std::set<std::pair<history::Key, history::Element>> given;
  std::map<history::Key, std::size_t> lengths;
  for (KeySlots& node : nodes_) {
    for (std::uint32_t i = 0; i < 5 * kLength * kSlots; ++i) {
      const KeySlots::Append append = node.next(i % kSlots);
      EXPECT_TRUE(given.insert({append.key, append.element}).second);
      ++lengths[append.key];
    }
  }
  for (const auto& [key, length] : lengths) EXPECT_LE(length, nodes_[0].longest());
}

TEST_F(SlotsOfNodes, HaveNeighbouringKeysForTheListsOfANode) {
  std::map<std::uint32_t, std::set<history::Key>> keys;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    for (std::uint32_t i = 0; i < 2 * kLength; ++i) {
      const history::Key key = nodes_[0].next(slot).key;
      EXPECT_EQ(KeySlots::home(key), slot % kNodes);
      keys[KeySlots::home(key)].insert(key);
    }
  }
  EXPECT_EQ(keys.size(), kNodes);
  for (const auto& [home, lists] : keys) {
    EXPECT_EQ(lists.size(), 4u) << "two slots, two lists each";
    EXPECT_EQ(*lists.rbegin() - *lists.begin(), 3);
  }
}

TEST_F(SlotsOfNodes, FollowTheNodesThatAreAhead) {
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    const history::Key old = nodes_[1].current(slot);
    nodes_[1].found(old, 1);
    EXPECT_EQ(nodes_[1].current(slot), old) << "others may still append to it";
    nodes_[1].found(old, 2 * kLength);
    const history::Key next = nodes_[1].current(slot);
    EXPECT_NE(next, old);
    EXPECT_EQ(KeySlots::home(next), KeySlots::home(old));
    nodes_[1].found(old, kLength);
    EXPECT_EQ(nodes_[1].current(slot), next) << "never back";
  }
  EXPECT_EQ(nodes_[1].all().size(), 2 * kSlots);
}

TEST(SlotsAlone, ReplaceAListAfterSoManyAppends) {
  KeySlots slots(2, kLength);
  for (std::uint32_t i = 0; i < 2 * kLength; ++i) {
    const KeySlots::Append append = slots.next(1);
    EXPECT_EQ(append.key, i < kLength ? 1 : 3);
    EXPECT_EQ(append.element, i % kLength + 1);
  }
  EXPECT_EQ(slots.all(), (std::vector<history::Key>{0, 1, 3, 5}));
}

TEST(SlotsOfLives, AreNotGivenAgainByTheNextLife) {
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "node";
  std::set<std::pair<history::Key, history::Element>> given;
  std::vector<std::string> parts;
  for (std::uint64_t life = 0; life < 3; ++life) {
    const auto lives = NodeLives::begin(file, kSlots);
    ASSERT_TRUE(lives.ok()) << lives.status().message();
    EXPECT_EQ((*lives)->earlier(), life);
    KeySlots slots((*lives)->counts(), kLength, {1, kNodes});
    for (std::uint32_t i = 0; i < kLength + 1; ++i) {
      const KeySlots::Append append = slots.next(2);
      EXPECT_TRUE(given.insert({append.key, append.element}).second);
    }
    parts.push_back((*lives)->history());
    std::ofstream(parts.back()) << "";
  }
  EXPECT_EQ(std::set<std::string>(parts.begin(), parts.end()).size(), parts.size());
  EXPECT_EQ(NodeLives::histories(file), parts);
  EXPECT_EQ(NodeLives::begin(directory / "nowhere/node", kSlots).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace granary::bench::append
