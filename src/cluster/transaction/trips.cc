#include "src/cluster/transaction/trips.h"

#include "src/cc/drtm/drtm.h"

namespace granary::cluster {

void Trips::run(TripPhase phase, std::span<Step* const> steps) {
  if (steps.empty()) return;
  cc::drtm::leave_region(reach_.worker);
  const rdma::fiber::Traffic before = rounds_.traffic();
  rounds_.run(steps);
  cc::bump(reach_.counters.rounds[static_cast<std::size_t>(phase)], rounds_.traffic().rounds - before.rounds);
  count(before);
}

void Trips::start(std::span<AccessStep* const> steps, rdma::fiber::Chains& chains) {
  cc::drtm::leave_region(reach_.worker);
  Batch<Step*> all = batch<Step*>(steps.size());
  for (AccessStep* const step : steps) all.push_back(step);
  const rdma::fiber::Traffic before = rounds_.traffic();
  rounds_.start(all, chains);
  count(before);
}

void Trips::count(const rdma::fiber::Traffic& before) {
  const rdma::fiber::Traffic& after = rounds_.traffic();
  ReachCounters& counters = reach_.counters;
  cc::bump(counters.reads, after.reads - before.reads);
  cc::bump(counters.read_bytes, after.read_bytes - before.read_bytes);
  cc::bump(counters.writes, after.writes - before.writes);
  cc::bump(counters.compare_swaps, after.compare_swaps - before.compare_swaps);
}

void Trips::run(TripPhase phase, std::span<AccessStep* const> steps) {
  Batch<Step*> all = batch<Step*>(steps.size());
  for (AccessStep* const step : steps) all.push_back(step);
  run(phase, std::span<Step* const>(all));
}

void Trips::ask(std::span<messages::Question* const> questions) {
  if (questions.empty()) return;
  cc::drtm::leave_region(reach_.worker);
  cc::bump(reach_.counters.messages, std::uint64_t{questions.size()});
  reach_.messenger.ask(questions);
}

void Trips::clear() {
  buffers_.clear();
  arena_.clear();
}

}  // namespace granary::cluster
