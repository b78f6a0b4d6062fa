// Predictions follow from two runs: what they were made from they give back, and elsewhere the same counts cost what
// they cost there.

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "bench/predict/model.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench::predict {
namespace {

constexpr Costs kShm{
    .by_processor = true, .round_trip = 200, .read = 50, .write = 50, .compare_swap = 50, .message = 10'000, .post = 0};
/// 2.5 us there and back, and for nothing else.
constexpr Costs kCard{.by_processor = false, .round_trip = 2'500, .message = 5'000, .post = 100};

/// Each transaction takes 1 us, and a distributed one 3 us more: 1 us is that of its operations.
Measured run_with(double share) {
  return {.path = "run",
          .benchmark = "smallbank",
          .throughput = 2e9 / (1'000 + share * 3'000),
          .distributed_share = share,
          .each = {.round_trips = 3, .reads = 5, .writes = 2, .compare_swaps = 1},
          .nodes = 2,
          .workers = 1,
          .cores = 2};
}

Model model() { return Model::fit(run_with(0), run_with(0.5), kShm).value(); }

TEST(Predict, PartsOfARequest) {
  EXPECT_NEAR(model().local_ns(), 1'000, 0.01);
  EXPECT_NEAR(model().extra_ns(), 3'000, 0.01);
  EXPECT_NEAR(model().fabric_ns(kShm), 1'000, 0.01);
  EXPECT_NEAR(model().software_ns(), 2'000, 0.01);
}

/// TPC-C's standard mix: a request is 1.32 transactions.
TEST(Predict, TimesAreThoseOfADistributedTransactionAlsoIfRequestsAreSeveral) {
  const auto run_of_several = [](double share) {
    Measured run = run_with(share);
    run.transactions_per_request = 1.32;
    run.throughput = 2e9 / (1'000 + share * 1.32 * 3'000);
    return run;
  };
  const Model model = Model::fit(run_of_several(0.1), run_of_several(0.67), kShm).value();
  EXPECT_NEAR(model.local_ns(), 1'000, 0.01);
  EXPECT_NEAR(model.extra_ns(), 3'000, 0.01);
  EXPECT_NEAR(model.software_ns(), 2'000, 0.01);
  EXPECT_NEAR(model.predict(0.5, {.cores = 2, .costs = kShm}).throughput, run_of_several(0.5).throughput, 1);
  EXPECT_NEAR(model.predict(1, {.costs = kCard}).waiting_ns, 1.32 * 7'500, 0.01);
}

TEST(Predict, GivesBackWhatWasMeasured) {
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    const Prediction there = model().predict(share, {.cores = 2, .costs = kShm});
    EXPECT_NEAR(there.throughput, run_with(share).throughput, 1) << share;
    EXPECT_EQ(there.waiting_ns, 0);
  }
}

TEST(Predict, CoresBoundWorkers) {
  const double two = model().predict(0.2, {.nodes = 2, .cores = 2, .costs = kShm}).throughput;
  EXPECT_NEAR(model().predict(0.2, {.nodes = 24, .cores = 2, .costs = kShm}).throughput, two, 1);
  EXPECT_NEAR(model().predict(0.2, {.nodes = 24, .costs = kShm}).throughput, 12 * two, 1);
}

/// 3.3 us of work and 7.5 us of waiting: with one transaction at a time the wait counts whole, and with four nothing of
/// it.
TEST(Predict, FibersHideWhatACardTakes) {
  const auto of = [](std::uint32_t fibers) {
    return model().predict(1, {.nodes = 1, .workers = 1, .fibers = fibers, .costs = kCard});
  };
  EXPECT_NEAR(of(1).processor_ns, 3'300, 0.01);
  EXPECT_NEAR(of(1).waiting_ns, 7'500, 0.01);
  EXPECT_NEAR(of(1).throughput, 1e9 / 10'800, 1);
  EXPECT_NEAR(of(2).throughput, 2e9 / 10'800, 1);
  EXPECT_NEAR(of(4).throughput, 1e9 / 3'300, 1);
  EXPECT_EQ(of(8).throughput, of(4).throughput);
}

/// One of the three round trips is a write-back.
TEST(Predict, FibersDoNotWaitForWriteBacks) {
  Measured less = run_with(0), more = run_with(0.5);
  less.each.write_backs = more.each.write_backs = 1;
  const Model model = Model::fit(less, more, kShm).value();
  EXPECT_NEAR(model.predict(1, {.fibers = 1, .costs = kCard}).waiting_ns, 7'500, 0.01);
  EXPECT_NEAR(model.predict(1, {.fibers = 2, .costs = kCard}).waiting_ns, 5'000, 0.01);
}

TEST(Predict, RefusesRunsThatTellNothingApart) {
  Measured older = run_with(0.66);  // by a release that takes a request for one transaction
  Measured newer = run_with(0.5);
  newer.transactions_per_request = 1.32;
  EXPECT_EQ(Model::fit(newer, older, kShm).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::fit(run_with(0.3), run_with(0.31), kShm).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::fit(run_with(0.5), run_with(0), kShm).status().code(), StatusCode::kInvalidArgument);
  Measured other = run_with(0.5);
  other.benchmark = "tpcc";
  EXPECT_EQ(Model::fit(run_with(0), other, kShm).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::fit(run_with(0), run_with(0.5), kCard).status().code(), StatusCode::kInvalidArgument);
}

/// A throughput that follows from such times would be negative, or of no end.
TEST(Predict, RefusesRunsByWhichATransactionTakesNoTime) {
  Measured faster = run_with(0.5);
  faster.throughput = run_with(0).throughput * 1.1;
  const Status of_distributed = Model::fit(run_with(0), faster, kShm).status();
  EXPECT_EQ(of_distributed.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(of_distributed.message().find("measure both again"), std::string::npos) << of_distributed.message();
  Measured slower = run_with(1);
  slower.throughput = run_with(0.9).throughput / 10;
  EXPECT_EQ(Model::fit(run_with(0.9), slower, kShm).status().code(), StatusCode::kInvalidArgument) << "of a local one";
}

/// Operations overlap with other work here, and cost nothing there.
TEST(Predict, WorkIsNotNegativeWhereOperationsAreCheaper) {
  Measured more = run_with(0.5);
  more.throughput = 2e9 / (1'000 + 0.5 * 400);
  const Model overlaps = Model::fit(run_with(0), more, kShm).value();
  const Costs nothing{.by_processor = true};
  const Prediction there = overlaps.predict(1, {.costs = nothing});
  EXPECT_GE(there.processor_ns, overlaps.local_ns());
}

class Reports : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string path = directory_.path() + "/report.json";
    std::ofstream(path) << text;
    return path;
  }

  tests::TemporaryDirectory directory_;
};

TEST_F(Reports, OfTheFabric) {
  const auto figure = [](const std::string& operation, unsigned bytes, const std::string& how, unsigned ns) {
    return R"({"operation":")" + operation + R"(","bytes":)" + std::to_string(bytes) + R"(,"how":")" + how +
           R"(","nanoseconds":)" + std::to_string(ns) + "}";
  };
  std::string text = R"({"granary":{"provider":"shm","figures":[)";
  for (const std::string operation : {"READ", "WRITE"}) {
    text += figure(operation, 64, "one by one", 310) + "," + figure(operation, 64, "chains of 16", 40) + ",";
  }
  text += figure("CAS", 8, "one by one", 330) + "," + figure("CAS", 8, "chains of 16", 60) + ",";
  text += figure("ring", 0, "asleep, round trip", 9'000) + "]}}";
  const Costs costs = costs_of_report(file(text)).value();
  EXPECT_TRUE(costs.by_processor);
  EXPECT_NEAR(costs.read, 22, 0.01);  // (16 * 40 - 310) / 15
  EXPECT_NEAR(costs.round_trip, 288, 0.01);
  EXPECT_NEAR(costs.compare_swap, 42, 0.01);
  EXPECT_EQ(costs.message, 9'000);
}

TEST_F(Reports, ThatAreNone) {
  EXPECT_EQ(costs_of_report(directory_.path() + "/none").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(read_measured(directory_.path() + "/none").status().code(), StatusCode::kUnavailable);
  for (const std::string text :
       {"", "{", "[]", R"({"granary":{}})", R"({"granary":{"provider":"shm","figures":[]}})"}) {
    EXPECT_EQ(costs_of_report(file(text)).status().code(), StatusCode::kDamaged) << text;
    EXPECT_EQ(read_measured(file(text)).status().code(), StatusCode::kDamaged) << text;
    for (const Status& told : {costs_of_report(file(text)).status(), read_measured(file(text)).status()})
      EXPECT_EQ(told.message().find("json.exception"), std::string::npos) << told.message();
  }
  const std::string words = "is no report of 'granary bench fabric --json': ";
  EXPECT_NE(costs_of_report(file("{")).status().message().find(words + "it is no JSON, or not whole"),
            std::string::npos);
}

/// A tenth of the requests are ten transactions, and another tenth snapshots, which are none of the cluster's attempts.
/// Each transaction is tried twice, and one in ten is distributed.
TEST_F(Reports, TellHowManyTransactionsARequestIs) {
  const std::string text =
      R"({"Benchmark Type":"tpcc","granary":{"median_repeat":0,"parameters":{"workers":1},"machine":{"cpus":2},)"
      R"("nodes":[{"node 1":{}}],"repeats":[{"throughput":100,"total":{"committed":95,"rolled_back":5,)"
      R"("transactions":190,"aborts":190},"cluster":{"attempts":360,"distributed":36,"distributed_share":0.1,)"
      R"("reads":72,"writes":0,"compare_swaps":0,"messages":0,"round_trips":108}}]}})";
  const Measured measured = read_measured(file(text)).value();
  EXPECT_NEAR(measured.transactions_per_request, 1.8, 1e-9);
  EXPECT_NEAR(measured.distributed_per_request(), 0.18, 1e-9);
  EXPECT_NEAR(measured.each.round_trips, 6, 1e-9) << "of two attempts";
  std::string older = text;
  older.replace(older.find(R"("transactions":190,)"), std::string(R"("transactions":190,)").size(), "");
  const Measured of_older = read_measured(file(older)).value();
  EXPECT_EQ(of_older.transactions_per_request, 1);
  EXPECT_EQ(of_older.distributed_per_request(), 0.1);
  EXPECT_EQ(of_older.each.round_trips, 3);
}

/// A report of a cluster's run, with this in the place of its number of round trips and its workers.
std::string run_with(const std::string& round_trips, const std::string& workers) {
  return R"({"Benchmark Type":"ycsb","granary":{"median_repeat":0,"parameters":{"workers":)" + workers +
         R"(},"machine":{"cpus":2},"nodes":[{"node 1":{}}],"repeats":[{"throughput":1000,"cluster":{"distributed":10,)"
         R"("distributed_share":0.5,"reads":1,"writes":1,"compare_swaps":1,"messages":1,"round_trips":)" +
         round_trips + "}}]}}";
}

TEST_F(Reports, OfNumbersThatCannotBe) {
  const Result<Measured> measured = read_measured(file(run_with("20", "2")));
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_EQ(measured->each.round_trips, 2);
  for (const std::string text : {run_with("-20", "2"), run_with("20", "-2"), run_with("20", "0")}) {
    const Status refused = read_measured(file(text)).status();
    EXPECT_EQ(refused.code(), StatusCode::kDamaged) << text;
    EXPECT_NE(refused.message().find("is expected"), std::string::npos) << refused.message();
  }
}

}  // namespace
}  // namespace granary::bench::predict
