// That each member of what a cluster file says has its key, and that docs/cluster-file.md tells of all keys what their
// rows do.

#include "cluster_config/keys.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "tests/support/member_count.h"

namespace granary::cluster_config {
namespace {

template <typename Struct>
constexpr std::size_t kKeys = std::tuple_size_v<decltype(option::Table<Struct>::kRows)>;

TEST(Keys, ThereIsOneForEachMember) {
  EXPECT_EQ(kKeys<ClusterConfig> + 4, tests::member_count<ClusterConfig>()) << "file, membership, clock, nodes";
  EXPECT_EQ(kKeys<MembershipConfig>, tests::member_count<MembershipConfig>());
  EXPECT_EQ(kKeys<ClockConfig>, tests::member_count<ClockConfig>());
  EXPECT_EQ(kKeys<NodeConfig> + 1, tests::member_count<NodeConfig>()) << "line";
}

/// Without what sets off words and texts.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != '`' && c != '"' && c != '\'') result += c;
  }
  return result;
}

struct Told {
  std::string values, meaning;
};

/// The tables below the heading: what they tell of each key.
std::map<std::string, Told> told_below(std::string_view heading) {
  std::ifstream document(DOCUMENTS "/cluster-file.md");
  std::map<std::string, Told> keys;
  bool below = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) below = line == heading;
    if (!below || !line.starts_with("| `")) continue;
    line = plain(line);
    const std::size_t values = line.find(" | "), meaning = line.find(" | ", values + 3);
    const std::string key = line.substr(2, values - 2);
    EXPECT_TRUE(keys.emplace(key, Told{line.substr(values + 3, meaning - values - 3), line.substr(meaning + 3)}).second)
        << key;
  }
  return keys;
}

template <typename Struct, typename T>
std::string values_of(const option::Row<Struct, T>& row) {
  const std::string initial = option::initially(row);
  std::string text = option::allowed(row);
  if (!std::is_enum_v<T>) return fmt::format("{}; {}", text, initial);
  return text.insert(text.find(initial) + initial.size(), " (default)");
}

template <typename Struct>
void expect_told(std::string_view heading) {
  std::map<std::string, Told> told = told_below(heading);
  option::for_each<Struct>([&](const auto& row) {
    const auto found = told.find(std::string(row.name));
    ASSERT_NE(found, told.end()) << heading << " does not tell of " << row.name;
    EXPECT_EQ(found->second.values, plain(values_of(row))) << row.name;
    EXPECT_THAT(found->second.meaning, testing::StartsWith(plain(row.help))) << row.name;
    told.erase(found);
  });
  for (const auto& [key, rest] : told) ADD_FAILURE() << heading << " tells of " << key << ", which is no key";
}

TEST(Keys, TheDocumentTellsOfEach) {
  expect_told<ClusterConfig>("## `[cluster]`");
  expect_told<MembershipConfig>("## `[membership]`");
  expect_told<ClockConfig>("## `[clock]`");
  expect_told<NodeConfig>("## `[[node]]` and `[defaults]`");
}

}  // namespace
}  // namespace granary::cluster_config
