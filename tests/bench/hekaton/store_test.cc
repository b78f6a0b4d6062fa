// YCSB's operations on rows in the bare index.

#include "bench/ycsb/hekaton_store.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace granary::bench::ycsb {
namespace {

TEST(HekatonStore, StepsAreOneTransaction) {
  Settings settings;
  settings.options.memory_limit_bytes = std::uint64_t{64} << 20;
  settings.options.huge_pages = HugePages::kOff;
  const Parameters parameters{.mix = mixes()[0], .keys = 10, .value_bytes = 100, .hash = true};
  const auto store = HekatonStore::open(settings, parameters).value();
  const auto session = store->session(1).value();
  AbortCounts aborts{};
  std::string value(parameters.value_bytes, '\0'), buffer = value;
  for (std::uint64_t key = 0; key < parameters.keys; ++key)
    ASSERT_EQ(session->insert(KeyBytes(key).view(), value, aborts), Ending::kCommitted);

  const std::array steps{Step{Operation::kReadModifyWrite, KeyBytes(1)}, Step{Operation::kRead, KeyBytes(2)},
                         Step{Operation::kReadModifyWrite, KeyBytes(3)}};
  const auto add_one = [&](const Step&) {
    set_counter(buffer.data(), buffer.size(), counter_of(buffer) + 1);
    return std::string_view(buffer);
  };
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(session->run_all(steps, 1, {buffer.data(), buffer.size()}, add_one, aborts), Ending::kCommitted);
  const auto other = store->session(2).value();
  for (std::uint64_t key = 0; key < parameters.keys; ++key) {
    EXPECT_TRUE(other->find(KeyBytes(key).view(), {buffer.data(), buffer.size()}, aborts));
    EXPECT_EQ(counter_of(buffer), key == 1 || key == 3 ? 7u : 0u);
    EXPECT_TRUE(whole(buffer));
  }
  EXPECT_FALSE(other->find(KeyBytes(99).view(), {buffer.data(), buffer.size()}, aborts));
}

}  // namespace
}  // namespace granary::bench::ycsb
