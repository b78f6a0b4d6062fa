#pragma once
// Tests the rows of each struct of options: each member has a row, and its range is the one that is checked, and the
// one in the public header's comment. A test program instantiates the suite OptionRows with the structs whose rows it
// can include. Each struct has a specialization of Rows.

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "src/base/option.h"
#include "tests/support/member_count.h"

namespace granary::tests {

/// A specialization has `kHeader`, the path of the public header that declares the struct, and good(), which returns
/// options without a mistake.
template <typename Struct>
struct Rows;

template <typename Struct>
class OptionRows : public testing::Test {};
TYPED_TEST_SUITE_P(OptionRows);

TYPED_TEST_P(OptionRows, EachMemberHasOneWithItsName) {
  EXPECT_EQ(std::tuple_size_v<decltype(option::Table<TypeParam>::kRows)>, member_count<TypeParam>());
  std::set<std::string_view> names;
  std::ifstream header(Rows<TypeParam>::kHeader);
  const std::string text((std::istreambuf_iterator<char>(header)), {});
  option::for_each<TypeParam>([&](const auto& row) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_THAT(text, testing::HasSubstr(fmt::format(" {} = ", row.name)));
    EXPECT_FALSE(row.help.empty()) << row.name;
  });
}

template <typename Struct, typename T>
void expect_range(const option::Row<Struct, T>& row) {
  const auto expect_status = [&](const T& value, const std::string& status) {
    Struct values = Rows<Struct>::good();
    values.*row.member = value;
    EXPECT_THAT(option::check("Of::", values).message(), testing::StartsWith(status));
    EXPECT_EQ(option::check("Of::", values).ok(), status.empty());
  };
  const auto expect_refused = [&](const T& value, auto told) {
    expect_status(value, fmt::format("Of::{} is {}; expected {}", row.name, told, option::allowed(row)));
  };
  const bool required = row.unset == option::kRequired;
  if constexpr (std::is_enum_v<T>) {
    for (const auto& each : row.words) expect_status(each.value, "");
    expect_refused(static_cast<T>(option::kMostWords), option::kMostWords);
  } else if constexpr (option::kIsNumber<T>) {
    const auto expect_number_refused = [&](T value) { expect_refused(value, static_cast<std::int64_t>(value)); };
    for (const T value : {row.low, row.high}) expect_status(value, "");
    if (required)
      expect_number_refused(row.initial());
    else
      expect_status(row.initial(), "");
    if (row.low != std::numeric_limits<T>::min() && static_cast<T>(row.low - 1) != row.initial())
      expect_number_refused(static_cast<T>(row.low - 1));
    if (row.high != std::numeric_limits<T>::max()) expect_number_refused(static_cast<T>(row.high + 1));
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (required) expect_refused("", "empty");
    if (row.path) expect_refused(std::string("/tmp/a\0b", 8), "'/tmp/a\\0b'");
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (row.path) expect_refused({"/tmp/a", std::string("b\0", 2)}, "'b\\0'");
  }
}

TYPED_TEST_P(OptionRows, RangesAreChecked) {
  EXPECT_TRUE(option::check("", Rows<TypeParam>::good()).ok());
  option::for_each<TypeParam>([](const auto& row) { expect_range(row); });
}

/// Returns the header's comment on a member, which is above the member or at the end of its line.
inline std::string comment_of(const char* path, std::string_view member) {
  std::ifstream header(path);
  std::string comment;
  for (std::string line; std::getline(header, line);) {
    if (line.find(fmt::format(" {} = ", member)) != std::string::npos) return comment + line;
    const bool goes_on = line.find("  ///") == 0;
    comment = goes_on ? comment + line.substr(5) : "";
  }
  return "";
}

TYPED_TEST_P(OptionRows, TheHeaderSaysTheRanges) {
  option::for_each<TypeParam>([]<typename T>(const option::Row<TypeParam, T>& row) {
    if constexpr (option::kIsNumber<T>) {
      if (row.high == std::numeric_limits<T>::max()) return;
      const std::string said = comment_of(Rows<TypeParam>::kHeader, row.name);
      EXPECT_THAT(std::regex_replace(said, std::regex(" ([KMGT]iB)"), "$1"), testing::HasSubstr(option::allowed(row)))
          << row.name;
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(OptionRows, EachMemberHasOneWithItsName, RangesAreChecked, TheHeaderSaysTheRanges);

}  // namespace granary::tests
