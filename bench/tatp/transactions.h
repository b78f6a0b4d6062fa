#pragma once
// The seven transactions of TATP. A transaction fails if a row is missing, or if a row to be inserted is there already.
// The specification allows that; such a transaction counts as rolled back.

#include <array>
#include <span>

#include "bench/store/bodies.h"
#include "bench/store/range_workload.h"
#include "bench/tatp/requests.h"

namespace granary::bench::tatp {

/// The sums that show a lost change: the number of call forwardings, all locations, and all that update_subscriber_data
/// writes.
enum Sum : std::size_t { kForwardings, kLocations, kData };
using Sums = store::Sums<3>;

template <store::Store S, typename T>
class Transactions {
 public:
  Transactions(T& transaction, const Tables<S>& tables, const TatpRequest& request)
      : t_(transaction),
        tables_(tables),
        request_(request) {}

  store::Verdict run(Sums& change) {
    const bool by_number = request_.type >= Type::kUpdateLocation;
    if (const Verdict found = by_number ? find_by_number() : Verdict::kCommit; found != Verdict::kCommit) return found;
    switch (request_.type) {
      case Type::kGetSubscriberData: return get_subscriber_data();
      case Type::kGetNewDestination: return get_new_destination();
      case Type::kGetAccessData: return get_access_data();
      case Type::kUpdateSubscriberData: return update_subscriber_data(change);
      case Type::kUpdateLocation: return update_location(change);
      case Type::kInsertCallForwarding: return insert_call_forwarding(change);
      case Type::kDeleteCallForwarding: return delete_call_forwarding(change);
    }
    return Verdict::kRetry;
  }

 private:
  using Verdict = store::Verdict;

  Verdict get_subscriber_data() {
    Subscriber row;
    return store::fetch(t_, store::lookup(tables_.subscriber[request_.partition], subscriber(), row));
  }

  /// Looks for a call forwarding that begins at `start` or before and ends after `end_time`. Its facility must be
  /// active.
  Verdict get_new_destination() {
    SpecialFacility facility;
    std::array<CallForwarding, kStarts> rows;
    const auto at = [&](std::uint64_t start) {
      return store::lookup(tables_.call_forwarding[request_.partition], forwarding(start), rows[start]);
    };
    auto wanted = store::lookup(tables_.special_facility[request_.partition], typed(), facility);
    std::array forwardings{at(0), at(1), at(2)};
    const std::span until(forwardings.data(), request_.start + 1);
    if (t_.multi_get(std::span(&wanted, 1), until) != Outcome::kOk) return Verdict::kRetry;
    bool any = false;
    for (const auto& each : until) any |= each.found && request_.end_time < each.row->end_time;
    return any && wanted.found && facility.is_active != 0 ? Verdict::kCommit : Verdict::kRollBack;
  }

  Verdict get_access_data() {
    AccessInfo row;
    return store::fetch(t_, store::lookup(tables_.access_info[request_.partition], typed(), row));
  }

  Verdict update_subscriber_data(Sums& change) {
    Subscriber row;
    SpecialFacility facility;
    const Verdict found =
        store::fetch(t_, store::lookup(tables_.subscriber[request_.partition], subscriber(), row, true),
                     store::lookup(tables_.special_facility[request_.partition], typed(), facility, true));
    if (found != Verdict::kCommit) return found;
    change[kData] = std::uint64_t{request_.bit} + request_.data_a - row.bits[0] - facility.data_a;
    row.bits[0] = request_.bit;
    facility.data_a = request_.data_a;
    return store::commit_if_ok(t_.overwrite(tables_.subscriber[request_.partition], subscriber(), row),
                               t_.overwrite(tables_.special_facility[request_.partition], typed(), facility));
  }

  /// Looks up the subscriber of the sub_nbr in the index.
  Verdict find_by_number() {
    NumberOwner owner;
    const Verdict found = store::fetch(
        t_, store::lookup(tables_.by_number[request_.partition], number_key(sub_nbr_of(request_.subscriber)), owner));
    if (found == Verdict::kCommit) request_.subscriber = static_cast<std::uint64_t>(owner.subscriber);
    return found;
  }

  Verdict update_location(Sums& change) {
    Subscriber row;
    const Verdict found =
        store::fetch(t_, store::lookup(tables_.subscriber[request_.partition], subscriber(), row, true));
    if (found != Verdict::kCommit) return found;
    change[kLocations] = std::uint64_t{request_.location} - row.vlr_location;
    row.vlr_location = request_.location;
    return store::commit_if_ok(t_.overwrite(tables_.subscriber[request_.partition], subscriber(), row));
  }

  /// Inserts a call forwarding if the subscriber has its facility. Reads all of the subscriber's facilities, as
  /// specified.
  Verdict insert_call_forwarding(Sums& change) {
    std::array<SpecialFacility, kRowTypes> rows;
    const auto at = [&](std::uint64_t type) {
      return store::lookup(tables_.special_facility[request_.partition], type_key(request_.subscriber, type),
                           rows[type]);
    };
    std::array facilities{at(0), at(1), at(2), at(3)};
    CallForwarding old;
    auto place = store::lookup(tables_.call_forwarding[request_.partition], forwarding(request_.start), old, true);
    if (t_.multi_get(std::span(facilities.data(), kRowTypes), std::span(&place, 1)) != Outcome::kOk)
      return Verdict::kRetry;
    if (!facilities[request_.row_type].found || place.found) return Verdict::kRollBack;
    change[kForwardings] = 1;
    return store::commit_if_ok(t_.insert(place.table, place.key, CallForwarding{request_.end_time, request_.numberx}));
  }

  Verdict delete_call_forwarding(Sums& change) {
    CallForwarding row;
    const Verdict found = store::fetch(
        t_, store::lookup(tables_.call_forwarding[request_.partition], forwarding(request_.start), row, true));
    if (found != Verdict::kCommit) return found;
    change[kForwardings] = ~std::uint64_t{0};  // −1
    return store::commit_if_ok(t_.remove(tables_.call_forwarding[request_.partition], forwarding(request_.start)));
  }

  SubscriberKey subscriber() const { return SubscriberKey{request_.subscriber}; }
  TypeKey typed() const { return type_key(request_.subscriber, request_.row_type); }
  ForwardingKey forwarding(std::uint64_t start) const {
    return forwarding_key(request_.subscriber, request_.row_type, start);
  }

  T& t_;
  const Tables<S>& tables_;
  TatpRequest request_;
};

}  // namespace granary::bench::tatp
