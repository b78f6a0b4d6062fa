// Whole runs on threads, on every store and on nodes that share one: all tables fit together afterwards, and what does
// not fit is found. Speed is not tested.

#include "tests/support/shared_database_store.h"
#include "tests/tatp/small_tatp.h"

namespace granary::bench::tatp {
namespace {

std::string what_is_wrong(Workload& workload) {
  std::string wrong;
  for (const Finding& finding : workload.verify()) {
    if (!finding.holds) wrong += finding.condition + ": " + finding.detail + "\n";
  }
  return wrong;
}

template <store::Store S>
void run_and_check(const store::RangeParameters& parameters, bool split = false) {
  auto tatp = small_tatp<S>(parameters, split);
  EXPECT_EQ(what_is_wrong(*tatp), "");
  drive_workload(*tatp, 3);
  EXPECT_EQ(what_is_wrong(*tatp), "");
}

TEST(TatpRun, HashTables) { run_and_check<store::GranaryStore>(few_subscribers(2)); }

TEST(TatpRun, OneSubscriberWhomAllWant) { run_and_check<store::GranaryStore>(few_subscribers(1, 1)); }

TEST(TatpRun, OrderedTablesSplit) {
  store::RangeParameters parameters = few_subscribers(3);
  parameters.hash = false;
  run_and_check<store::GranaryStore>(parameters, true);
}

TEST(TatpRun, PartitionedStore) {
  store::RangeParameters parameters = few_subscribers(2);
  parameters.hash = false;
  run_and_check<store::PartitionedStore>(parameters);
}

TEST(TatpRun, NodesAreConsistentTogether) {
  using S = store::SharedDatabaseStore;
  const std::shared_ptr<store::GranaryStore> all =
      std::move(*store::GranaryStore::open(small_database_options(), false));
  std::vector<std::unique_ptr<TatpWorkload<S>>> nodes;
  for (const std::uint32_t node : {0u, 1u}) {
    store::RangeParameters parameters = few_subscribers(2);
    parameters.share = {.node = node, .nodes = 2, .in_cluster = true};
    nodes.push_back(std::make_unique<TatpWorkload<S>>(
        parameters, [=]() -> Result<std::unique_ptr<S>> { return std::make_unique<S>(all, node); }));
    load_workload(*nodes.back(), 1);
    EXPECT_EQ(nodes.back()->load_units(), 100u);
  }
  for (auto& node : nodes) drive_workload(*node, 2);
  const std::vector<Finding> first = nodes[0]->verify();
  std::string why;
  EXPECT_TRUE(store::all_hold({first, nodes[1]->verify()}, why)) << why;
  EXPECT_NE(first[1 + kLocations].tally->expected, first[1 + kLocations].tally->found) << "updates went elsewhere";
}

/// Breaks something after a run, and says which findings tell.
class TatpDamage : public testing::Test {
 protected:
  using S = store::GranaryStore;

  void SetUp() override { drive_workload(*tatp_, 2); }

  template <typename Break>
  std::vector<bool> findings_after(Break&& damage) {
    auto session = tatp_->store().session(0);
    AbortCounts aborts{};
    EXPECT_EQ((*session)->run({0}, aborts,
                              [&](S::Transaction& t) {
                                return damage(t, tatp_->tables()) == Outcome::kOk ? store::Verdict::kCommit
                                                                                  : store::Verdict::kRetry;
                              }),
              Ending::kCommitted);
    std::vector<bool> holds;
    for (const Finding& finding : tatp_->verify()) holds.push_back(finding.holds);
    return holds;
  }
  /// Rows, forwardings, locations, data.
  using Holds = std::vector<bool>;
  static constexpr std::uint64_t kWho = 3;

  std::unique_ptr<TatpWorkload<S>> tatp_ = small_tatp<S>(few_subscribers(1));
};

TEST_F(TatpDamage, NothingIsFoundWhereThereIsNone) {
  EXPECT_EQ(findings_after([](auto&, auto&) { return Outcome::kOk; }), (Holds{true, true, true, true}));
}

TEST_F(TatpDamage, AMissingSubscriberIsFound) {
  EXPECT_FALSE(
      findings_after([](auto& t, auto& tables) { return t.remove(tables.subscriber[0], SubscriberKey{kWho}); })[0]);
}

TEST_F(TatpDamage, ANumberOfAnotherSubscriberIsFound) {
  EXPECT_FALSE(findings_after([](auto& t, auto& tables) {
    return t.overwrite(tables.by_number[0], NumberKey{kWho}, NumberOwner{SubscriberKey{kWho + 1}});
  })[0]);
}

TEST_F(TatpDamage, ASubscriberWithAnotherNumberThanTheIndexSaysIsFound) {
  EXPECT_FALSE(findings_after([](auto& t, auto& tables) {
    Subscriber row;
    if (t.get(tables.subscriber[0], SubscriberKey{kWho}, row) != Outcome::kOk) return Outcome::kNotFound;
    row.sub_nbr = sub_nbr_of(kWho + 1);
    return t.overwrite(tables.subscriber[0], SubscriberKey{kWho}, row);
  })[0]);
}

TEST_F(TatpDamage, ACallForwardingWithoutItsFacilityIsFound) {
  EXPECT_FALSE(findings_after([](auto& t, auto& tables) {
    static_cast<void>(t.remove(tables.special_facility[0], type_key(kWho, 1)));
    return t.overwrite(tables.call_forwarding[0], forwarding_key(kWho, 1, 0), CallForwarding{});
  })[0]);
}

TEST_F(TatpDamage, ALostCallForwardingIsFound) {
  const Holds holds = findings_after([](auto& t, auto& tables) {
    for (std::uint64_t place = 0; place < 100 * kRowTypes * kStarts; ++place) {  // the first there is
      if (t.remove(tables.call_forwarding[0], ForwardingKey{place}) == Outcome::kOk) return Outcome::kOk;
    }
    return Outcome::kNotFound;
  });
  EXPECT_EQ(holds, (Holds{true, false, true, true}));
}

TEST_F(TatpDamage, ALostUpdateOfALocationIsFound) {
  const Holds holds = findings_after([](auto& t, auto& tables) {
    Subscriber row;
    if (t.get(tables.subscriber[0], SubscriberKey{kWho}, row) != Outcome::kOk) return Outcome::kNotFound;
    ++row.vlr_location;
    return t.overwrite(tables.subscriber[0], SubscriberKey{kWho}, row);
  });
  EXPECT_EQ(holds, (Holds{true, true, false, true}));
}

TEST_F(TatpDamage, ALostUpdateOfDataIsFound) {
  const Holds holds = findings_after([](auto& t, auto& tables) {
    Subscriber row;
    if (t.get(tables.subscriber[0], SubscriberKey{kWho}, row) != Outcome::kOk) return Outcome::kNotFound;
    row.bits[0] ^= 1;
    return t.overwrite(tables.subscriber[0], SubscriberKey{kWho}, row);
  });
  EXPECT_EQ(holds, (Holds{true, true, true, false}));
}

}  // namespace
}  // namespace granary::bench::tatp
