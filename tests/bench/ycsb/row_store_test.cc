// YCSB's operations on the stores that have rows of their own in the bare index.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/ycsb/dta_store.h"
#include "bench/ycsb/hekaton_store.h"

namespace granary::bench::ycsb {
namespace {

template <typename Store>
class RowStore : public testing::Test {
 protected:
  void SetUp() override {
    Settings settings;
    settings.options.memory_limit_bytes = std::uint64_t{64} << 20;
    settings.options.huge_pages = HugePages::kOff;
    store_ = Store::open(settings, parameters_).value();
    const auto session = store_->session(1).value();
    const std::string value(parameters_.value_bytes, '\0');
    for (std::uint64_t key = 0; key < parameters_.keys; ++key)
      ASSERT_EQ(session->insert(KeyBytes(key).view(), value, aborts_), Ending::kCommitted);
  }

  const Parameters parameters_{.shares = mixes()[0].shares, .keys = 10, .value_bytes = 100, .hash = true};
  std::unique_ptr<Store> store_;
  AbortCounts aborts_{};
};
using Stores = testing::Types<DtaStore, HekatonStore>;
TYPED_TEST_SUITE(RowStore, Stores);

TYPED_TEST(RowStore, StepsAreOneTransaction) {
  const auto session = this->store_->session(1).value();
  std::string buffer(this->parameters_.value_bytes, '\0');
  const std::array steps{Step{Operation::kReadModifyWrite, KeyBytes(1)}, Step{Operation::kRead, KeyBytes(2)},
                         Step{Operation::kReadModifyWrite, KeyBytes(3)}};
  const auto add_one = [&](const Step&) {
    set_counter(buffer.data(), buffer.size(), counter_of(buffer) + 1);
    return std::string_view(buffer);
  };
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(session->run_all(steps, 1, {buffer.data(), buffer.size()}, add_one, this->aborts_), Ending::kCommitted);
  const auto other = this->store_->session(2).value();
  bool found = false;
  for (std::uint64_t key = 0; key < this->parameters_.keys; ++key) {
    EXPECT_EQ(other->find(KeyBytes(key).view(), {buffer.data(), buffer.size()}, found, this->aborts_),
              Ending::kCommitted);
    EXPECT_TRUE(found);
    EXPECT_EQ(counter_of(buffer), key == 1 || key == 3 ? 7u : 0u);
    EXPECT_TRUE(whole(buffer));
  }
  EXPECT_EQ(other->find(KeyBytes(99).view(), {buffer.data(), buffer.size()}, found, this->aborts_), Ending::kCommitted);
  EXPECT_FALSE(found);
}

using DtaRowStore = RowStore<DtaStore>;

TEST_F(DtaRowStore, HasSoManySessionsAtATime) {
  std::vector<std::unique_ptr<DtaStore::Session>> sessions;
  for (std::uint32_t i = 0; i < dta::Row::kSessions; ++i) sessions.push_back(store_->session(i).value());
  EXPECT_EQ(store_->session(0).status().code(), StatusCode::kResourceExhausted);
  sessions.pop_back();
  EXPECT_TRUE(store_->session(0).ok());
}

}  // namespace
}  // namespace granary::bench::ycsb
