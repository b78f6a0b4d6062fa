// Each transaction alone, by hand: what it does to the balances and when it rolls back.

#include "tests/smallbank/small_bank.h"

namespace granary::bench::smallbank {
namespace {

using S = store::GranaryStore;

class SmallBankTransactions : public testing::Test {
 protected:
  void set(std::size_t who, Cents savings, Cents checking) {
    run([&](auto& teller) {
      EXPECT_TRUE(teller.fetch({{customers_[who], Use::kWrite, Use::kWrite}}));
      EXPECT_TRUE(teller.set_savings(0, savings) && teller.set_checking(0, checking));
    });
  }
  void expect(std::size_t who, Cents savings, Cents checking) {
    run([&](auto& teller) {
      EXPECT_TRUE(teller.fetch({{customers_[who], Use::kRead, Use::kRead}}));
      EXPECT_EQ(teller.savings(0), savings);
      EXPECT_EQ(teller.checking(0), checking);
    });
  }
  /// By the first customer, to the second; returns what the bank has more.
  Cents committed(Type type, Cents amount) { return carry_out(type, amount, Ending::kCommitted).deposited; }
  void rolled_back(Type type, Cents amount) { carry_out(type, amount, Ending::kRolledBack); }

  BankReply carry_out(Type type, Cents amount, Ending expected) {
    const BankRequest request{type, customers_[0], customers_[1], amount};
    BankReply reply;
    EXPECT_EQ(
        (*session_)->run({0, 1}, aborts_,
                         [&]<typename T>(T& t) { return Transactions<S, T>(t, bank_->tables(), request).run(reply); }),
        expected);
    return reply;
  }

 private:
  template <typename Body>
  void run(Body&& body) {
    (*session_)->run({0, 1}, aborts_, [&]<typename T>(T& t) {
      Teller<S, T> teller(t, bank_->tables());
      body(teller);
      return store::Verdict::kCommit;
    });
  }

  const std::array<Customer, 2> customers_{Customer{CustomerKey{3}, 0}, Customer{CustomerKey{150}, 1}};
  std::unique_ptr<BankWorkload<S>> bank_ = small_bank<S>(small_parameters(2), true);
  Result<std::unique_ptr<S::Session>> session_ = bank_->store().session(1);
  AbortCounts aborts_{};
};

TEST_F(SmallBankTransactions, BalanceAddsUp) {
  set(0, 100, 20);
  EXPECT_EQ(carry_out(Type::kBalance, 0, Ending::kCommitted).balance, 120);
  expect(0, 100, 20);
}

TEST_F(SmallBankTransactions, DepositChecking) {
  set(0, 100, 20);
  EXPECT_EQ(committed(Type::kDepositChecking, 5), 5);
  expect(0, 100, 25);
}

TEST_F(SmallBankTransactions, TransactSavingsNeverBelowZero) {
  set(0, 100, 20);
  EXPECT_EQ(committed(Type::kTransactSavings, -100), -100);
  expect(0, 0, 20);
  rolled_back(Type::kTransactSavings, -1);
  EXPECT_EQ(committed(Type::kTransactSavings, 7), 7);
  expect(0, 7, 20);
}

TEST_F(SmallBankTransactions, AmalgamateMovesAll) {
  set(0, 100, -20);
  set(1, 1, 2);
  EXPECT_EQ(committed(Type::kAmalgamate, 0), 0);
  expect(0, 0, 0);
  expect(1, 1, 82);
}

TEST_F(SmallBankTransactions, WriteCheckPenalizesWhoOverdraws) {
  set(0, 100, 20);
  EXPECT_EQ(committed(Type::kWriteCheck, 120), -120);
  expect(0, 100, -100);
  EXPECT_EQ(committed(Type::kWriteCheck, 1), -101);
  expect(0, 100, -201);
}

TEST_F(SmallBankTransactions, SendPaymentNeedsTheMoney) {
  set(0, 100, 20);
  set(1, 0, 0);
  EXPECT_EQ(committed(Type::kSendPayment, 20), 0);
  expect(0, 100, 0);
  expect(1, 0, 20);
  rolled_back(Type::kSendPayment, 1);
  expect(1, 0, 20);
}

}  // namespace
}  // namespace granary::bench::smallbank
