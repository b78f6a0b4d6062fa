#include "bench/smallbank/requests.h"

#include "bench/store/range_work.h"

namespace granary::bench::smallbank {

RequestSource::RequestSource(const Parameters& parameters, std::uint32_t worker)
    : parameters_(parameters),
      ranges_(parameters.ranges()),
      home_(store::home_partition(ranges_, parameters.share, worker)),
      random_(parameters.seed, std::uint64_t{0x62616e6b} << 32 | parameters.share.node << 16 | worker) {}

BankRequest RequestSource::next() {
  BankRequest request{.type = static_cast<Type>(store::draw_of(kMix, random_)), .first = any_customer(home_)};
  if (has_two(request.type)) request.second = other_customer(request.first);
  request.amount = next_amount(request.type);
  return request;
}

Cents RequestSource::next_amount(Type type) {
  constexpr Cents kMost = 100'00;
  // Deposits are larger than what is spent: else most hot customers would soon have nothing to pay with.
  constexpr Cents kMostDeposited = 10 * kMost;
  const Cents amount = random_.between(1, type == Type::kDepositChecking ? kMostDeposited : kMost);
  return type == Type::kTransactSavings && random_.below(2) == 0 ? -amount : amount;
}

Customer RequestSource::any_customer(std::uint32_t partition) {
  const KeyRange range = ranges_[partition];
  const std::uint64_t hot = parameters_.hot_of(range.size());
  const bool is_hot = hot == range.size() || (hot != 0 && random_.chance(parameters_.hot_requests));
  const std::uint64_t number = is_hot ? random_.below(hot) : hot + random_.below(range.size() - hot);
  return {CustomerKey{range.from + number}, partition};
}

Customer RequestSource::other_customer(const Customer& first) {
  const std::uint32_t partition = store::home_or_other(ranges_, first.partition, parameters_.distributed, random_);
  Customer second = any_customer(partition);
  const KeyRange range = ranges_[partition];
  if (second.key == first.key) {  // its neighbour, round the end of the range
    const std::uint64_t next = static_cast<std::uint64_t>(second.key) + 1;
    second.key = CustomerKey{next == range.to ? range.from : next};
  }
  return second;
}

}  // namespace granary::bench::smallbank
