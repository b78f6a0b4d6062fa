// Predictions are judged by runs that the model was not made from: other shares of distributed transactions, and a card
// of other latencies, with several transactions of the worker open at once. All of them are runs of the engine on
// simulated nodes, in virtual time, so no other load of the machine changes a figure.
//
// The worker's processor is a part of the simulation: what a transaction computes takes as long as the test says, and
// no other fiber runs meanwhile. The model has to find these times from two runs where a round trip is short.
//
// Not covered: more workers than cores, messages, and conflicts, which the model takes to stay as they are.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/predict/model.h"
#include "src/base/random.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::bench::predict {
namespace {

constexpr std::uint64_t kLocal_ns = 1'000;        // what each transaction computes
constexpr std::uint64_t kDistributed_ns = 1'500;  // and what a distributed one does besides
constexpr std::uint64_t kNear_ns = 200;           // the round trip in the two runs that the model is made from
constexpr std::uint64_t kTurn_ns = 1;             // what the worker takes to let another fiber go on: next to nothing
constexpr unsigned kKeys = 32;                    // so few that their places stay known
constexpr unsigned kTransactions = 2'000;         // of a run

/// The transactions of a benchmark. They read all of their records and write the first ones.
struct Shape {
  const char* name;
  unsigned records;
  unsigned written;
  unsigned remote;  ///< records of other nodes, if the transaction is distributed; the first ones
};
/// Moves money from one account to another: a SmallBank.
constexpr Shape kTransfers{.name = "transfers", .records = 2, .written = 2, .remote = 1};
/// Reads half of its records only, and finds records of both other nodes: an order of some articles.
constexpr Shape kOrders{.name = "orders", .records = 8, .written = 4, .remote = 6};

struct Run {
  double share = 0;  ///< of transactions that are distributed
  std::uint64_t round_trip_ns = kNear_ns;
  unsigned fibers = 1;
};

/// Three nodes, of which the first one has a worker that works.
class World {
 public:
  World(const Shape& shape, const Run& run)
      : shape_(shape),
        run_(run),
        cluster_(3, 1,
                 {.least_delay = run.round_trip_ns / 2, .most_delay = run.round_trip_ns / 2, .tear = 0, .overtake = 0}),
        tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    cluster_.set_turn_ns(kTurn_ns);
  }

  Measured measure() {
    for (unsigned i = 0; i < 2 * kKeys; ++i) transact(true);  // the records are made, and their places known
    settle();
    const Counts before = counts();
    const std::uint64_t distributed_before = distributed_, begin = cluster_.network.now();
    run_all();
    const double seconds = static_cast<double>(cluster_.network.now() - begin) / 1e9;
    settle();
    const double distributed = std::max<double>(1, static_cast<double>(distributed_ - distributed_before));
    const Counts after = counts();
    const auto each = [&](double Counts::*member) { return (after.*member - before.*member) / distributed; };
    return {.path = shape_.name,
            .benchmark = shape_.name,
            .throughput = kTransactions / seconds,
            .distributed_share = run_.share,
            .each = {.round_trips = each(&Counts::round_trips),
                     .write_backs = each(&Counts::write_backs),
                     .reads = each(&Counts::reads),
                     .writes = each(&Counts::writes),
                     .compare_swaps = each(&Counts::compare_swaps),
                     .messages = each(&Counts::messages)},
            .nodes = 1,
            .workers = 1,
            .fibers = run_.fibers,
            .cores = 1};
  }

 private:
  /// With one transaction at a time the worker is in no fiber, as that of a node.
  void run_all() {
    const std::vector<bool> distributed = draw();
    unsigned next = 0;
    const auto work = [&] {
      while (next < distributed.size()) {
        transact(distributed[next++]);
      }
    };
    if (run_.fibers == 1) return work();
    for (unsigned fiber = 0; fiber < run_.fibers; ++fiber) cluster_.scheduler.spawn(work);
    cluster_.scheduler.run();
  }

  /// Returns which transactions are distributed: exactly the share. Chance says which ones, as in a benchmark.
  std::vector<bool> draw() const {
    std::vector<bool> distributed(kTransactions);
    std::fill_n(distributed.begin(), std::lround(kTransactions * run_.share), true);
    base::Random random(1);
    std::shuffle(distributed.begin(), distributed.end(), random);
    return distributed;
  }

  /// The transactions of each kind use their keys in turn, so that those that are open at the same time do not meet.
  void transact(bool distributed) {
    const std::uint64_t number = distributed ? distributed_++ : local_++;
    compute(kLocal_ns + (distributed ? kDistributed_ns : 0));
    std::vector<std::string> keys;
    for (unsigned i = 0; i < shape_.records; ++i) {
      const unsigned node = distributed && i < shape_.remote ? 1 + i % 2 : 0;
      keys.push_back(std::to_string(node) + (distributed ? "d" : "l") + std::to_string(number % kKeys) + "." +
                     std::to_string(i));
    }
    std::vector<std::array<char, 32>> buffers(keys.size());
    std::vector<MultiGet> gets;
    for (unsigned i = 0; i < keys.size(); ++i)
      gets.push_back(MultiGet{tables_[0], keys[i], buffers[i], {}, i < shape_.written});
    Transaction t = cluster_.node(0).worker().begin();
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    for (unsigned i = 0; i < shape_.records; ++i) {
      const bool missing = gets[i].result.outcome == Outcome::kNotFound;
      if (i < shape_.written || missing) {
        EXPECT_EQ(t.put(tables_[0], keys[i], "value"), Outcome::kOk);
      }
    }
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }

  /// Has the worker's processor for so long.
  void compute(std::uint64_t ns) { cluster_.network.run_for(ns); }

  void settle() { cluster_.node(0).remote().await_arrival(); }

  Counts counts() {
    const cluster::ReachCounters& counters = cluster_.node(0).remote().counters();
    Counts sums{.reads = static_cast<double>(counters.reads),
                .writes = static_cast<double>(counters.writes),
                .compare_swaps = static_cast<double>(counters.compare_swaps),
                .messages = static_cast<double>(counters.messages)};
    for (const auto& rounds : counters.rounds) sums.round_trips += static_cast<double>(rounds);
    sums.write_backs = static_cast<double>(counters.rounds[static_cast<std::size_t>(cluster::TripPhase::kWriteBack)]);
    return sums;
  }

  const Shape& shape_;
  const Run run_;
  cluster::test::SimCluster cluster_;
  const std::vector<Table> tables_;
  std::uint64_t distributed_ = 0;  ///< transactions so far
  std::uint64_t local_ = 0;
};

Measured measured(const Shape& shape, const Run& run) { return World(shape, run).measure(); }

Model fitted(const Shape& shape) {
  // Each operation of a chain takes a nanosecond there, behind the one before it.
  const Costs near{.by_processor = true, .round_trip = kNear_ns, .read = 1, .write = 1, .compare_swap = 1};
  return Model::fit(measured(shape, {.share = 0}), measured(shape, {.share = 1}), near).value();
}

class HeldOut : public testing::TestWithParam<const Shape*> {};

INSTANTIATE_TEST_SUITE_P(Benchmarks, HeldOut, testing::Values(&kTransfers, &kOrders),
                         [](const auto& shape) { return shape.param->name; });

/// The aim is 15 % (docs/performance.md).
TEST_P(HeldOut, RunsAreAsPredicted) {
  constexpr double kWithin = 0.15;
  const Shape& shape = *GetParam();
  const Model model = fitted(shape);
  for (const double share : {0.1, 0.35, 0.8}) {
    for (const std::uint64_t round_trip : {std::uint64_t{2'500}, std::uint64_t{10'000}}) {
      const Costs card{.by_processor = false,
                       .round_trip = static_cast<double>(round_trip),
                       .read = 1,
                       .write = 1,
                       .compare_swap = 1,
                       .message = static_cast<double>(round_trip)};
      for (const unsigned fibers : {1u, 2u, 4u}) {
        const double there = measured(shape, {share, round_trip, fibers}).throughput;
        const double predicted =
            model.predict(share, {.nodes = 1, .workers = 1, .fibers = fibers, .costs = card}).throughput;
        const double off = predicted / there - 1;
        RecordProperty(
            "share_" + std::to_string(share) + "_" + std::to_string(round_trip) + "_" + std::to_string(fibers),
            std::to_string(off));
        EXPECT_LT(std::abs(off), kWithin) << 100 * share << " % distributed, " << round_trip << " ns, " << fibers
                                          << " fibers: " << there << " a second, predicted " << predicted;
      }
    }
  }
}

}  // namespace
}  // namespace granary::bench::predict
