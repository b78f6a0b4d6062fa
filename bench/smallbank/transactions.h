#pragma once
// The six transactions of SmallBank. Each reads all that it needs in one go, as the customers are known beforehand.

#include <array>
#include <span>

#include "bench/smallbank/requests.h"
#include "bench/smallbank/schema.h"

namespace granary::bench::smallbank {

/// The way in which a transaction uses a balance.
enum class Use : std::uint8_t { kNothing, kRead, kWrite };

/// Which of a customer's balances a transaction needs.
struct Need {
  Customer customer;
  Use savings, checking;
};

/// The rows of one or two customers within a transaction.
template <store::Store S, typename T>
class Teller {
 public:
  Teller(T& transaction, const Tables<S>& tables) : t_(transaction), tables_(tables) {}

  /// Reads accounts and balances. Returns false if a row is missing or the transaction has lost a conflict.
  template <std::size_t N>
  bool fetch(const Need (&needs)[N]) {
    static_assert(N <= kMost);
    std::array<Lookup<Account>, kMost> accounts;
    std::array<Lookup<Balance>, 2 * kMost> balances;
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const Customer who = customers_[i] = needs[i].customer;
      accounts[i] = {tables_.account[who.partition], who.key, &accounts_[i], false};
      const auto want = [&](const auto& table, Use use, Balance& row) {
        if (use != Use::kNothing) balances[wanted++] = {table[who.partition], who.key, &row, false, use == Use::kWrite};
      };
      want(tables_.savings, needs[i].savings, savings_[i]);
      want(tables_.checking, needs[i].checking, checking_[i]);
    }
    if (t_.multi_get(std::span(accounts.data(), N), std::span(balances.data(), wanted)) != Outcome::kOk) return false;
    for (std::size_t i = 0; i < N; ++i) {
      if (!accounts[i].found || accounts_[i].number != static_cast<std::uint64_t>(customers_[i].key)) return false;
    }
    for (std::size_t i = 0; i < wanted; ++i) {
      if (!balances[i].found) return false;
    }
    return true;
  }

  /// Return a balance of the customer in this place among the needs.
  Cents savings(std::size_t at) const { return savings_[at].cents; }
  Cents checking(std::size_t at) const { return checking_[at].cents; }
  bool set_savings(std::size_t at, Cents cents) { return set(tables_.savings, at, cents); }
  bool set_checking(std::size_t at, Cents cents) { return set(tables_.checking, at, cents); }

 private:
  static constexpr std::size_t kMost = 2;
  template <typename Row>
  using Lookup = store::Lookup<typename S::template Table<CustomerKey, Row>, CustomerKey, Row>;

  bool set(const typename Tables<S>::template Parts<Balance>& table, std::size_t at, Cents cents) {
    const Customer who = customers_[at];
    return t_.overwrite(table[who.partition], who.key, Balance{cents}) == Outcome::kOk;
  }

  T& t_;
  const Tables<S>& tables_;
  std::array<Customer, kMost> customers_{};
  std::array<Account, kMost> accounts_;
  std::array<Balance, kMost> savings_, checking_;
};

template <store::Store S, typename T>
class Transactions {
 public:
  Transactions(T& transaction, const Tables<S>& tables, const BankRequest& request)
      : teller_(transaction, tables),
        request_(request) {}

  store::Verdict run(BankReply& reply) {
    reply = {};
    switch (request_.type) {
      case Type::kBalance: return balance(reply);
      case Type::kDepositChecking: return deposit_checking(reply);
      case Type::kTransactSavings: return transact_savings(reply);
      case Type::kAmalgamate: return amalgamate();
      case Type::kWriteCheck: return write_check(reply);
      case Type::kSendPayment: return send_payment();
    }
    return store::Verdict::kRetry;
  }

 private:
  using Verdict = store::Verdict;
  static Verdict commit_if(bool written) { return written ? Verdict::kCommit : Verdict::kRetry; }

  Verdict balance(BankReply& reply) {
    if (!teller_.fetch({{request_.first, Use::kRead, Use::kRead}})) return Verdict::kRetry;
    reply.balance = teller_.savings(0) + teller_.checking(0);
    return Verdict::kCommit;
  }

  Verdict deposit_checking(BankReply& reply) {
    if (!teller_.fetch({{request_.first, Use::kNothing, Use::kWrite}})) return Verdict::kRetry;
    reply.deposited = request_.amount;
    return commit_if(teller_.set_checking(0, teller_.checking(0) + request_.amount));
  }

  /// Adds an amount to savings. The amount may be negative; the savings may not become so.
  Verdict transact_savings(BankReply& reply) {
    if (!teller_.fetch({{request_.first, Use::kWrite, Use::kNothing}})) return Verdict::kRetry;
    const Cents after = teller_.savings(0) + request_.amount;
    if (after < 0) return Verdict::kRollBack;
    reply.deposited = request_.amount;
    return commit_if(teller_.set_savings(0, after));
  }

  /// Moves all that the first customer has to the second one.
  Verdict amalgamate() {
    if (!teller_.fetch({{request_.first, Use::kWrite, Use::kWrite}, {request_.second, Use::kNothing, Use::kWrite}}))
      return Verdict::kRetry;
    const Cents all = teller_.savings(0) + teller_.checking(0);
    return commit_if(teller_.set_savings(0, 0) && teller_.set_checking(0, 0) &&
                     teller_.set_checking(1, teller_.checking(1) + all));
  }

  /// Cashes a check. Checks are always honoured; a customer who overdraws pays a penalty.
  Verdict write_check(BankReply& reply) {
    constexpr Cents kPenalty = 100;
    if (!teller_.fetch({{request_.first, Use::kRead, Use::kWrite}})) return Verdict::kRetry;
    const bool overdrawn = teller_.savings(0) + teller_.checking(0) < request_.amount;
    const Cents taken = request_.amount + (overdrawn ? kPenalty : 0);
    reply.deposited = -taken;
    return commit_if(teller_.set_checking(0, teller_.checking(0) - taken));
  }

  Verdict send_payment() {
    if (!teller_.fetch({{request_.first, Use::kNothing, Use::kWrite}, {request_.second, Use::kNothing, Use::kWrite}}))
      return Verdict::kRetry;
    if (teller_.checking(0) < request_.amount) return Verdict::kRollBack;
    return commit_if(teller_.set_checking(0, teller_.checking(0) - request_.amount) &&
                     teller_.set_checking(1, teller_.checking(1) + request_.amount));
  }

  Teller<S, T> teller_;
  const BankRequest& request_;
};

}  // namespace granary::bench::smallbank
