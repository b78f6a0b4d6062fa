#include "bench/tpcc/requests.h"

#include <ctime>

#include "bench/harness/client_number.h"

namespace granary::bench::tpcc {

Date now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return static_cast<Date>(time.tv_sec);
}

RequestSource::RequestSource(RunState& state, std::uint32_t client)
    : state_(state),
      parameters_(state.parameters),
      constants_(state.constants),
      random_(state.parameters.seed, 0x636c69656e740000 + (std::uint64_t{state.parameters.share.node} << 16) + client),
      history_origin_(state.next_history_origin.fetch_add(1, std::memory_order_relaxed)) {
  const std::uint32_t worker = worker_of_client(client);
  const std::uint32_t first = parameters_.first_warehouse(), own = parameters_.own_warehouses();
  for (std::uint32_t w = worker; w < own; w += parameters_.workers)
    homes_.push_back(static_cast<std::uint16_t>(first + w));
  if (homes_.empty()) homes_.push_back(static_cast<std::uint16_t>(first + worker % own));
  double sum = 0;
  for (std::size_t i = 0; i < kTypes; ++i) until_[i] = sum += parameters_.mix[i] / 100;
}

Type RequestSource::next_type() {
  const double draw = random_.unit();
  for (std::size_t i = 0; i + 1 < kTypes; ++i) {
    if (draw < until_[i]) return static_cast<Type>(i);
  }
  // The last type of the mix that has a share at all takes what rounding leaves.
  std::size_t last = kTypes - 1;
  while (last != 0 && parameters_.mix[last] == 0) --last;
  return static_cast<Type>(last);
}

std::uint16_t RequestSource::next_home() {
  if (++turn_ >= homes_.size()) turn_ = 0;
  return homes_[turn_];
}

std::uint16_t RequestSource::another_warehouse(std::uint16_t home) {
  const auto other = static_cast<std::uint16_t>(1 + random_.below(parameters_.warehouses - 1));
  return other < home ? other : static_cast<std::uint16_t>(other + 1);
}

NewOrderRequest RequestSource::new_order() {
  constexpr std::uint64_t kFewest = 5, kOneIn = 100, kMostOfAnItem = 10;
  NewOrderRequest request;
  request.warehouse = next_home();
  request.district = any_district();
  request.customer = random_customer(random_, constants_, parameters_.scale);
  request.date = now();
  request.line_count = static_cast<std::uint8_t>(kFewest + random_.below(kMaxLines - kFewest + 1));
  const bool roll_back = random_.below(kOneIn) == 0;
  for (std::size_t i = 0; i < request.line_count; ++i) {
    NewOrderRequest::Line& line = request.lines[i];
    line.item = random_item(random_, constants_, parameters_.scale);
    const bool remote = parameters_.warehouses > 1 && random_.chance(parameters_.remote_line);
    line.supply_warehouse = remote ? another_warehouse(request.warehouse) : request.warehouse;
    line.quantity = static_cast<std::uint8_t>(1 + random_.below(kMostOfAnItem));
  }
  if (roll_back) request.lines[request.line_count - 1].item = parameters_.scale.items + 1;  // no item has this number
  request.order = 0;
  if (parameters_.fast_ids) {
    request.order = state_.next_order(request.warehouse, request.district).fetch_add(1, std::memory_order_relaxed);
  }
  return request;
}

CustomerChoice RequestSource::choose_customer(std::uint16_t warehouse, std::uint8_t district) {
  constexpr std::uint64_t kByLastName = 60;
  CustomerChoice choice{.warehouse = warehouse, .district = district, .customer = 0, .last = {}};
  if (random_.below(100) < kByLastName) {
    choice.last = last_name(random_name(random_, constants_.run_last_name, parameters_.scale));
  } else {
    choice.customer = random_customer(random_, constants_, parameters_.scale);
  }
  return choice;
}

PaymentRequest RequestSource::payment() {
  constexpr std::int32_t kLeast = 100, kMost = 500'000;
  PaymentRequest request;
  request.history = history_key(history_origin_, history_sequence_++);
  request.warehouse = next_home();
  request.district = any_district();
  const bool remote = parameters_.warehouses > 1 && random_.chance(parameters_.remote_payment);
  request.customer = remote ? choose_customer(another_warehouse(request.warehouse), any_district())
                            : choose_customer(request.warehouse, request.district);
  request.amount = static_cast<std::int32_t>(random_.between(kLeast, kMost));
  request.date = now();
  return request;
}

OrderStatusRequest RequestSource::order_status() {
  const std::uint16_t warehouse = next_home();
  return {choose_customer(warehouse, any_district())};
}

DeliveryRequest RequestSource::delivery() {
  constexpr std::uint64_t kCarriers = 10;
  return {.date = now(),
          .from_order = 0,
          .warehouse = next_home(),
          .district = 0,
          .carrier = static_cast<std::uint8_t>(1 + random_.below(kCarriers))};
}

StockLevelRequest RequestSource::stock_level() {
  StockLevelRequest request;
  request.warehouse = next_home();
  request.district = any_district();
  request.threshold = static_cast<std::int32_t>(random_.between(10, 20));
  request.next_order =
      parameters_.fast_ids ? state_.next_order(request.warehouse, request.district).load(std::memory_order_relaxed) : 0;
  return request;
}

}  // namespace granary::bench::tpcc
