// The registry of protocols: names, numbers, and which guest a number leads to.

#include <gtest/gtest.h>

#include "src/cc/protocols.h"

namespace granary::cc {
namespace {

struct Second : silo::Silo {
  static constexpr std::string_view kName = "second";
};
struct Third : silo::Silo {
  static constexpr std::string_view kName = "third";
};
using Three = Registry<silo::Silo, Second, Third>;

TEST(ProtocolRegistry, LeadsFromANameToItsGuest) {
  for (const std::string_view name : Three::kNames) {
    const std::optional<std::uint8_t> number = Three::number_of(name);
    ASSERT_TRUE(number.has_value()) << name;
    EXPECT_EQ(Three::with(*number, []<Protocol P> { return P::kName; }), name);
  }
  EXPECT_EQ(Three::number_of("fourth"), std::nullopt);
}

TEST(ProtocolRegistry, BeginsWithTheDefault) { EXPECT_EQ(Protocols::kNames.front(), Options().protocol); }

}  // namespace
}  // namespace granary::cc
