// Measures the latency of single operations over an RDMA device, to compare with perftest's ib_read_lat and
// ib_atomic_lat on the same device. This process sends one operation at a time to itself, through the device. Prints
// medians in microseconds.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "rdma/verbs/verbs_fabric.h"
#include "src/base/tsc_clock.h"

namespace granary::rdma::verbs {
namespace {

constexpr int kExitEnvironment = 3;
constexpr RegionId kRegion = 1;
constexpr std::size_t kOperations = 5000;
constexpr std::size_t kWarmUp = 500;

void require(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "verbs_latency: {}\n", status.message());
  std::exit(kExitEnvironment);
}

template <typename T>
T require(Result<T> result) {
  require(result.status());
  return std::move(result).value();
}

/// Returns the median of the operations' times, each from its post to its completion. They run one after the other.
double median_us(Endpoint& endpoint, ConnectionId connection, const Operation& operation) {
  const base::TscClock clock = base::TscClock::calibrated();
  std::vector<double> times;
  for (std::size_t i = 0; i < kWarmUp + kOperations; ++i) {
    const std::uint64_t begin = clock.ticks();
    if (endpoint.post(connection, {&operation, 1}, Signal::kYes, i) != PostResult::kPosted)
      require(endpoint.status(connection));
    Completion done;
    while (endpoint.poll({&done, 1}) == 0) continue;
    if (i >= kWarmUp) times.push_back(clock.nanoseconds(clock.ticks() - begin) / 1000);
  }
  require(endpoint.status(connection));
  std::nth_element(times.begin(), times.begin() + kOperations / 2, times.end());
  return times[kOperations / 2];
}

int run() {
  VerbsOptions options;
  options.connections = 1;
  options.tolerate_swap_stores = true;  // no other thread uses the region, so no operation races with another
  const auto memory = require(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}));
  const auto fabric = require(open_verbs_fabric(options));
  require(fabric->register_region({.id = kRegion}, *memory));
  require(fabric->listen());
  const auto endpoint = require(fabric->open_endpoint());
  const ConnectionId connection = require(endpoint->connect(options.node.node, 5'000'000));
  const RemoteAddress there{options.node.node, kRegion, options.node.generation, 0};
  auto* const here = reinterpret_cast<std::uint64_t*>(memory->base() + 4096);
  fmt::print("READ 64 {:.2f}\n", median_us(*endpoint, connection, Operation::read(here, there, 64)));
  fmt::print("CAS 8 {:.2f}\n", median_us(*endpoint, connection, Operation::compare_swap(there, 0, 1, here)));
  return 0;
}

}  // namespace
}  // namespace granary::rdma::verbs

int main() { return granary::rdma::verbs::run(); }
