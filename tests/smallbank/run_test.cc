// Whole runs on threads, on every store: no money comes or goes unseen. Speed is not tested.

#include <chrono>
#include <thread>

#include "tests/smallbank/small_bank.h"

namespace granary::bench::smallbank {
namespace {

template <store::Store S>
void drive(BankWorkload<S>& bank, std::uint32_t workers) {
  std::vector<std::thread> threads;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      auto client = bank.make_client(worker);
      ASSERT_TRUE(client.ok()) << client.status().message();
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
      while (std::chrono::steady_clock::now() < end) EXPECT_NE((*client)->run_one().ending, Ending::kGaveUp);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <store::Store S>
void run_and_check(const Parameters& parameters, bool split = false) {
  auto bank = small_bank<store::GranaryStore>(parameters, split);
  drive(*bank, 3);
  for (const Finding& finding : bank->verify()) EXPECT_TRUE(finding.holds) << finding.condition << finding.detail;
}

TEST(SmallBankRun, HashTables) { run_and_check<store::GranaryStore>(small_parameters(2)); }

TEST(SmallBankRun, OrderedTablesSplit) {
  Parameters parameters = small_parameters(3);
  parameters.hash = false;
  run_and_check<store::GranaryStore>(parameters, true);
}

TEST(SmallBankRun, PartitionedStore) {
  Parameters parameters = small_parameters(2);
  parameters.hash = false;
  run_and_check<store::PartitionedStore>(parameters);
}

TEST(SmallBankRun, OneHotCustomerAndAnother) {
  Parameters parameters = small_parameters(1);
  parameters.customers = 2;
  parameters.hot_customers = 0.5;
  run_and_check<store::GranaryStore>(parameters);
}

TEST(SmallBankRun, MoneyFromNowhereIsFound) {
  auto bank = small_bank<store::GranaryStore>(small_parameters(1));
  auto session = bank->store().session(0);
  AbortCounts aborts{};
  (*session)->run({0}, aborts, [&](auto& t) {
    return t.overwrite(bank->tables().savings[0], CustomerKey{7}, Balance{1}) == Outcome::kOk ? store::Verdict::kCommit
                                                                                              : store::Verdict::kRetry;
  });
  const std::vector<Finding> findings = bank->verify();
  EXPECT_TRUE(findings[0].holds);
  EXPECT_FALSE(findings[1].holds) << findings[1].detail;
}

TEST(SmallBankRun, AMissingBalanceIsFound) {
  auto bank = small_bank<store::GranaryStore>(small_parameters(1));
  auto session = bank->store().session(0);
  AbortCounts aborts{};
  (*session)->run({0}, aborts, [&](auto& t) {
    return t.remove(bank->tables().checking[0], CustomerKey{99}) == Outcome::kOk ? store::Verdict::kCommit
                                                                                 : store::Verdict::kRetry;
  });
  EXPECT_FALSE(bank->verify()[0].holds);
}

/// Two nodes' halves: each loads its own customers only, and leaves the sums to be judged together.
TEST(SmallBankRun, NodesHaveTheirPartOfTheCustomersAndOfTheSums) {
  Tally all;
  std::uint64_t customers = 0;
  for (const std::uint32_t node : {0u, 1u}) {
    Parameters parameters = small_parameters(2);
    parameters.customers = 201;
    parameters.distributed = 0;
    parameters.share = {.node = node, .nodes = 2, .in_cluster = true};
    auto bank = small_bank<store::GranaryStore>(parameters);
    customers += bank->load_units();
    drive(*bank, 2);
    const std::vector<Finding> findings = bank->verify();
    for (const Finding& finding : findings) EXPECT_TRUE(finding.holds) << finding.detail;
    ASSERT_TRUE(findings[1].tally);
    all.expected += findings[1].tally->expected;
    all.found += findings[1].tally->found;
  }
  EXPECT_EQ(customers, 201u);
  EXPECT_EQ(all.expected, all.found);
}

}  // namespace
}  // namespace granary::bench::smallbank
