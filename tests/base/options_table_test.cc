// That each option of a database has its row, that the row's range is what is checked, and what the public header says of it. That
// opening checks is tested in tests/bad_input; flags in tests/cli.

#include "src/base/options_table.h"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/member_count.h"

namespace granary::option {
namespace {

using testing::HasSubstr;

template <typename Struct>
class Rows : public testing::Test {};
using Structs = testing::Types<Options, HtmSimulation>;
TYPED_TEST_SUITE(Rows, Structs);

TYPED_TEST(Rows, EachMemberHasOneWithItsName) {
  EXPECT_EQ(std::tuple_size_v<decltype(Table<TypeParam>::kRows)>, tests::member_count<TypeParam>());
  std::set<std::string_view> names;
  std::ifstream header(PUBLIC_HEADERS "/options.h");
  const std::string text((std::istreambuf_iterator<char>(header)), {});
  for_each<TypeParam>([&](const auto& row) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_THAT(text, HasSubstr(fmt::format(" {} = ", row.name)));
    EXPECT_FALSE(row.help.empty()) << row.name;
  });
}

template <typename Struct, typename T>
void expect_range(const Row<Struct, T>& row) {
  const auto expect_status = [&](T value, const std::string& status) {
    Struct values;
    values.*row.member = value;
    EXPECT_THAT(check("Of::", values).message(), testing::StartsWith(status));
    EXPECT_EQ(check("Of::", values).ok(), status.empty());
  };
  const auto expect_refused = [&](auto value) {
    expect_status(value,
                  fmt::format("Of::{} is {}; expected {}", row.name, static_cast<std::int64_t>(value), allowed(row)));
  };
  if constexpr (std::is_enum_v<T>) {
    for (const auto& each : row.words) expect_status(each.value, "");
    expect_refused(static_cast<T>(kMostWords));
  } else if constexpr (kIsNumber<T>) {
    for (const T value : {row.low, row.high, row.initial()}) expect_status(value, "");
    if (row.low != std::numeric_limits<T>::min() && static_cast<T>(row.low - 1) != row.initial())
      expect_refused(static_cast<T>(row.low - 1));
    if (row.high != std::numeric_limits<T>::max()) expect_refused(static_cast<T>(row.high + 1));
  }
}

TYPED_TEST(Rows, RangesAreChecked) {
  EXPECT_TRUE(check("", TypeParam()).ok());
  for_each<TypeParam>([](const auto& row) { expect_range(row); });
}

/// What the header says of a member: the comment above it, or behind it.
std::string comment_of(std::string_view member) {
  std::ifstream header(PUBLIC_HEADERS "/options.h");
  std::string comment;
  for (std::string line; std::getline(header, line);) {
    if (line.find(fmt::format(" {} = ", member)) != std::string::npos) return comment + line;
    const bool goes_on = line.find("  ///") == 0;
    comment = goes_on ? comment + line.substr(5) : "";
  }
  return "";
}

TYPED_TEST(Rows, TheHeaderSaysTheRanges) {
  for_each<TypeParam>([]<typename T>(const Row<TypeParam, T>& row) {
    if constexpr (kIsNumber<T>) {
      if (row.high == std::numeric_limits<T>::max()) return;
      const std::string comment = std::regex_replace(comment_of(row.name), std::regex(" ([KMG]iB)"), "$1");
      EXPECT_THAT(comment, HasSubstr(allowed(row))) << row.name;
    }
  });
}

TEST(Rows, TextsAreAsPeopleWriteThem) {
  EXPECT_EQ(allowed(row<&Options::epoch_ms>()), "1 to 10000");
  EXPECT_EQ(initially(row<&Options::epoch_ms>()), "40");
  EXPECT_EQ(allowed(row<&Options::ring_bytes>()), "64KiB to 1GiB");
  EXPECT_EQ(initially(row<&Options::ring_bytes>()), "8MiB");
  EXPECT_EQ(allowed(row<&Options::max_open_epochs>()), "a whole number from 0");
  EXPECT_EQ(initially(row<&Options::numa_node>()), "any");
  EXPECT_EQ(allowed(row<&Options::release>()), "durable, commit");
  EXPECT_EQ(initially(row<&Options::release>()), "durable");
  EXPECT_EQ(initially(row<&Options::directory>()), "in memory only");
}

}  // namespace
}  // namespace granary::option
