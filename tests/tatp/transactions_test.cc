// Each transaction alone, by hand: what it does to the rows, when it is rolled back, and how often that happens.

#include "tests/tatp/small_tatp.h"

namespace granary::bench::tatp {
namespace {

using Store = store::GranaryStore;
using Transaction = Store::Transaction;

class TatpTransactions : public testing::Test {
 protected:
  static constexpr std::uint64_t kWho = 5;

  /// Runs a body, `Outcome(transaction, tables)`, that must commit.
  template <typename Body>
  void change(Body&& body) {
    EXPECT_EQ((*session_)->run({0}, aborts_,
                               [&](Transaction& t) {
                                 return body(t, tatp_->tables()) == Outcome::kOk ? store::Verdict::kCommit
                                                                                 : store::Verdict::kRollBack;
                               }),
              Ending::kCommitted);
  }
  /// The subscriber has a facility of type 2, with no call forwarding but one from 8 to 12 o'clock.
  void give_facility(std::uint8_t is_active, std::uint8_t data_a = 0) {
    change([&](Transaction& t, const Tables<Store>& tables) {
      for (std::uint64_t start = 0; start < kStarts; ++start)
        static_cast<void>(t.remove(tables.call_forwarding[0], forwarding_key(kWho, 2, start)));
      static_cast<void>(
          t.overwrite(tables.special_facility[0], type_key(kWho, 2), SpecialFacility{is_active, 0, data_a, {}}));
      return t.overwrite(tables.call_forwarding[0], forwarding_key(kWho, 2, 1), CallForwarding{12, {}});
    });
  }
  void take_facility() {
    change([&](Transaction& t, const Tables<Store>& tables) {
      return t.remove(tables.special_facility[0], type_key(kWho, 2));
    });
  }
  Ending carry_out(TatpRequest request) {
    request.subscriber = kWho;
    request.row_type = 2;
    return (*session_)->run({0}, aborts_, [&](Transaction& t) {
      change_ = {};
      return Tatp::carry_out<Store>(t, tatp_->tables(), request, change_);
    });
  }
  template <typename Row, typename Table, typename K>
  std::optional<Row> row(const Table& table, K key) {
    Row found;
    bool there = false;
    change([&](Transaction& t, const Tables<Store>&) {
      there = t.get(table[0], key, found) == Outcome::kOk;
      return Outcome::kOk;
    });
    return there ? std::optional(found) : std::nullopt;
  }

  std::unique_ptr<TatpWorkload<Store>> tatp_ = small_tatp<Store>(few_subscribers(1));
  Result<std::unique_ptr<Store::Session>> session_ = tatp_->store().session(1);
  AbortCounts aborts_{};
  Sums change_{};
};

TEST_F(TatpTransactions, GetNewDestinationNeedsAnActiveFacilityAndTheHours) {
  const TatpRequest request{.type = Type::kGetNewDestination, .start = 1, .end_time = 11};
  give_facility(1);
  EXPECT_EQ(carry_out(request), Ending::kCommitted);
  TatpRequest other = request;
  other.start = 2;
  EXPECT_EQ(carry_out(other), Ending::kCommitted) << "begun earlier";
  other.start = 0;
  EXPECT_EQ(carry_out(other), Ending::kRolledBack) << "begins later";
  other = request;
  other.end_time = 12;
  EXPECT_EQ(carry_out(other), Ending::kRolledBack) << "ends too early";
  give_facility(0);
  EXPECT_EQ(carry_out(request), Ending::kRolledBack);
  take_facility();
  EXPECT_EQ(carry_out(request), Ending::kRolledBack);
}

TEST_F(TatpTransactions, GetAccessDataNeedsTheRow) {
  change([&](Transaction& t, const Tables<Store>& tables) {
    return t.overwrite(tables.access_info[0], type_key(kWho, 2), AccessInfo{});
  });
  EXPECT_EQ(carry_out({.type = Type::kGetAccessData}), Ending::kCommitted);
  change(
      [&](Transaction& t, const Tables<Store>& tables) { return t.remove(tables.access_info[0], type_key(kWho, 2)); });
  EXPECT_EQ(carry_out({.type = Type::kGetAccessData}), Ending::kRolledBack);
  EXPECT_EQ(carry_out({.type = Type::kGetSubscriberData}), Ending::kCommitted);
}

TEST_F(TatpTransactions, UpdateSubscriberDataWritesBothRowsOrNone) {
  const TatpRequest request{.type = Type::kUpdateSubscriberData, .bit = 1, .data_a = 200};
  give_facility(1, 30);
  Subscriber before = *row<Subscriber>(tatp_->tables().subscriber, SubscriberKey{kWho});
  EXPECT_EQ(carry_out(request), Ending::kCommitted);
  EXPECT_EQ(change_[kData], 171u - before.bits[0]);
  EXPECT_EQ(row<Subscriber>(tatp_->tables().subscriber, SubscriberKey{kWho})->bits[0], 1);
  EXPECT_EQ(row<SpecialFacility>(tatp_->tables().special_facility, type_key(kWho, 2))->data_a, 200);
  take_facility();
  EXPECT_EQ(carry_out({.type = Type::kUpdateSubscriberData, .bit = 0}), Ending::kRolledBack);
  EXPECT_EQ(row<Subscriber>(tatp_->tables().subscriber, SubscriberKey{kWho})->bits[0], 1);
}

TEST_F(TatpTransactions, UpdateLocationFindsTheSubscriberByItsNumber) {
  EXPECT_EQ(carry_out({.type = Type::kUpdateLocation, .location = 77}), Ending::kCommitted);
  EXPECT_EQ(row<Subscriber>(tatp_->tables().subscriber, SubscriberKey{kWho})->vlr_location, 77u);
  change([&](Transaction& t, const Tables<Store>& tables) {
    return t.overwrite(tables.by_number[0], NumberKey{kWho}, NumberOwner{SubscriberKey{6}});
  });
  EXPECT_EQ(carry_out({.type = Type::kUpdateLocation, .location = 78}), Ending::kCommitted);
  EXPECT_EQ(row<Subscriber>(tatp_->tables().subscriber, SubscriberKey{6})->vlr_location, 78u);
}

TEST_F(TatpTransactions, CallForwardingsAreInsertedOnceAndDeletedOnce) {
  give_facility(1);
  const TatpRequest insert{.type = Type::kInsertCallForwarding, .start = 2, .end_time = 20, .numberx = digits_of(9)};
  const TatpRequest remove{.type = Type::kDeleteCallForwarding, .start = 2};
  EXPECT_EQ(carry_out(remove), Ending::kRolledBack);
  EXPECT_EQ(carry_out(insert), Ending::kCommitted);
  EXPECT_EQ(change_[kForwardings], 1u);
  const auto inserted = row<CallForwarding>(tatp_->tables().call_forwarding, forwarding_key(kWho, 2, 2));
  ASSERT_TRUE(inserted);
  EXPECT_EQ(inserted->end_time, 20);
  EXPECT_EQ(inserted->numberx, digits_of(9));
  EXPECT_EQ(carry_out(insert), Ending::kRolledBack) << "there already";
  EXPECT_EQ(carry_out(remove), Ending::kCommitted);
  EXPECT_EQ(change_[kForwardings], ~std::uint64_t{0});
  EXPECT_FALSE(row<CallForwarding>(tatp_->tables().call_forwarding, forwarding_key(kWho, 2, 2)));
  take_facility();
  EXPECT_EQ(carry_out(insert), Ending::kRolledBack) << "no facility";
}

/// The shares that follow from how the population is drawn. Of new destinations: 0.625 have the facility, 0.85 of these
/// are active, and 0.278 of these have a call forwarding that fits, by enumeration.
TEST(TatpFailures, AreAsOftenAsThePopulationMakesThem) {
  auto tatp = small_tatp<Store>(few_subscribers(1, 5'000));
  auto client = tatp->make_client(0);
  std::array<double, kMix.size()> all{}, committed{};
  for (int i = 0; i < 50'000; ++i) {
    const Request request = (*client)->run_one();
    all[request.type] += 1;
    committed[request.type] += request.ending == Ending::kCommitted ? 1 : 0;
  }
  const std::array<double, kMix.size()> expected{1, 0.148, 0.625, 0.625, 1, 0.3125, 0.3125};
  for (std::size_t type = 0; type < kMix.size(); ++type)
    EXPECT_NEAR(committed[type] / all[type], expected[type], 0.05) << kTypeNames[type];
}

}  // namespace
}  // namespace granary::bench::tatp
