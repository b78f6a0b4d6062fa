#pragma once
// Finds the customer that a request means (clauses 2.5.1.2, 2.6.1.2). 40 % of the requests have the customer's number,
// 60 % the last name. If several customers have that name, it is the middle one by first name, rounded up.

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/tpcc/tables.h"

namespace granary::bench::tpcc {

struct CustomerChoice {
  std::uint16_t warehouse;
  std::uint8_t district;
  std::uint32_t customer;  ///< the customer's number; 0: the request has the last name
  Text<16> last;
};

/// Finds the customer's number with one short scan of the index, without reading any customer. Returns kNotFound if no
/// customer has that name.
template <store::Store S, typename T>
Outcome choose_customer(T& transaction, const Tables<S>& tables, const CustomerChoice& choice,
                        std::uint32_t& customer) {
  struct Candidate {
    Text<16> first;
    std::uint32_t customer;
  };
  constexpr std::size_t kMost = 4096;  // at least as many as a district has customers
  constexpr std::uint64_t kAfterLast = 0xffff;
  customer = choice.customer;
  if (customer != 0) return Outcome::kOk;
  std::array<Candidate, kMost> candidates;
  std::size_t count = 0;
  const std::uint64_t tag = name_tag(choice.last.view());
  const auto collect = [&](CustomerNameKey key, const CustomerName& name) {
    if (std::memcmp(name.last.bytes, choice.last.bytes, sizeof name.last.bytes) == 0)
      candidates[count++] = {name.first, customer_of(key)};
    return count < kMost;
  };
  const Outcome scanned =
      transaction.scan(tables.customer_by_name[tables.partition_of(choice.warehouse)],
                       customer_name_key(choice.warehouse, choice.district, tag, 0),
                       customer_name_key(choice.warehouse, choice.district, tag, kAfterLast), collect);
  if (scanned != Outcome::kOk) return scanned;
  if (count == 0) return Outcome::kNotFound;
  const auto by_first_name = [](const Candidate& a, const Candidate& b) {
    const int order = std::memcmp(a.first.bytes, b.first.bytes, sizeof a.first.bytes);
    return order != 0 ? order < 0 : a.customer < b.customer;
  };
  Candidate* const middle = candidates.data() + (count - 1) / 2;
  std::nth_element(candidates.data(), middle, candidates.data() + count, by_first_name);
  customer = middle->customer;
  return Outcome::kOk;
}

}  // namespace granary::bench::tpcc
