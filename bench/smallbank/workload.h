#pragma once
// SmallBank over any store, and the money that must be there afterwards.

#include <fmt/format.h>

#include "bench/smallbank/transactions.h"
#include "bench/store/range_workload.h"

namespace granary::bench::smallbank {

/// The sum is all money, in cents.
struct SmallBank {
  using Parameters = smallbank::Parameters;
  using RequestSource = smallbank::RequestSource;
  template <store::Store S>
  using Tables = smallbank::Tables<S>;

  static constexpr const char* kName = "smallbank";
  static constexpr auto kTypeNames = smallbank::kTypeNames;
  static constexpr std::size_t kSums = 1;
  static constexpr store::RangeWords<kSums> kWords{
      .size_flag = "--accounts",
      .key = "customer",
      .broken = "is not complete",
      .all_whole = "every customer has an account and both balances",
      .agree = {"money in cents: loaded, deposited and withdrawn = all balances"}};
  static constexpr bool kTellsDistributed = true;

  static std::uint64_t estimated_bytes(const Parameters& parameters) { return smallbank::estimated_bytes(parameters); }

  template <typename Tables, typename Add>
  static void create(Tables& tables, Add&& add) {
    add(tables.account, "account", 1, /*loaded_once=*/true);
    add(tables.savings, "savings");
    add(tables.checking, "checking");
  }

  template <store::Store S, typename T>
  static bool insert(T& t, const Tables<S>& tables, const store::Piece& piece, base::Random& random,
                     store::Sums<kSums>& money) {
    constexpr Cents kLeast = 10'000'00, kMost = 50'000'00;
    for (std::uint64_t number = piece.keys.from; number < piece.keys.to; ++number) {
      const CustomerKey key{number};
      Account account{number, {}};
      fmt::format_to_n(account.name, sizeof account.name, "customer {}", number);
      const Balance savings{random.between(kLeast, kMost)}, checking{random.between(kLeast, kMost)};
      if (t.insert(tables.account[piece.partition], key, account) != Outcome::kOk ||
          t.insert(tables.savings[piece.partition], key, savings) != Outcome::kOk ||
          t.insert(tables.checking[piece.partition], key, checking) != Outcome::kOk) {
        return false;
      }
      money[0] += static_cast<std::uint64_t>(savings.cents + checking.cents);
    }
    return true;
  }

  template <store::Store S, typename T>
  static bool check(T& t, const Tables<S>& tables, std::uint32_t partition, std::uint64_t key,
                    store::Sums<kSums>& money) {
    Teller<S, T> teller(t, tables);
    if (!teller.fetch({{Customer{CustomerKey{key}, partition}, Use::kRead, Use::kRead}})) return false;
    money[0] = static_cast<std::uint64_t>(teller.savings(0) + teller.checking(0));
    return true;
  }

  static store::Footprint footprint(const BankRequest& request, bool) {
    store::Footprint footprint{request.first.partition};
    if (has_two(request.type)) footprint.add(request.second.partition);
    return footprint;
  }

  template <store::Store S, typename T>
  static store::Verdict carry_out(T& t, const Tables<S>& tables, const BankRequest& request,
                                  store::Sums<kSums>& change) {
    BankReply reply;
    const store::Verdict verdict = Transactions<S, T>(t, tables, request).run(reply);
    change[0] = static_cast<std::uint64_t>(reply.deposited);
    return verdict;
  }
};

template <store::Store S>
using BankWorkload = store::RangeWorkload<S, SmallBank>;

}  // namespace granary::bench::smallbank
