#include "bench/predict/model.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/predict/fibers.h"

namespace granary::bench::predict {
namespace {

/// Returns how many workers can run at a time.
double running(std::uint32_t nodes, std::uint32_t workers, std::uint32_t cores) {
  const double threads = static_cast<double>(nodes) * workers;
  return cores == 0 ? threads : std::min<double>(threads, cores);
}

/// Returns the time of a worker for one request, where the processor does all the work.
double worker_ns(const Measured& run) { return running(run.nodes, run.workers, run.cores) * 1e9 / run.throughput; }

}  // namespace

double Model::fabric_ns(const Costs& costs) const {
  return each_.round_trips * costs.round_trip + each_.reads * costs.read + each_.writes * costs.write +
         each_.compare_swaps * costs.compare_swap + each_.messages * costs.message;
}

double Model::waits(std::uint32_t fibers) const {
  return each_.round_trips - (fibers > 1 ? each_.write_backs : 0) + each_.messages;
}

double Model::waiting_ns(const Costs& costs, std::uint32_t fibers) const {
  return fabric_ns(costs) - (fibers > 1 ? each_.write_backs * costs.round_trip : 0);
}

Result<Model> Model::fit(const Measured& less, const Measured& more, const Costs& costs) {
  const auto refusal = [](std::string why) { return Status(StatusCode::kInvalidArgument, std::move(why)); };
  if (less.benchmark != more.benchmark) {
    return refusal(fmt::format("'{}' is a run of {}, and '{}' one of {}; two runs of one benchmark are needed",
                               less.path, less.benchmark, more.path, more.benchmark));
  }
  constexpr double kLeastApart = 0.05;
  const double apart = more.distributed_share - less.distributed_share;
  if (apart < kLeastApart || more.distributed_per_request() - less.distributed_per_request() < kLeastApart) {
    return refusal(fmt::format(
        "{:.1f} % of '{}' and {:.1f} % of '{}' were distributed; the second must have more, by "
        "{:.0f} points at least",
        100 * less.distributed_share, less.path, 100 * more.distributed_share, more.path, 100 * kLeastApart));
  }
  if (!costs.by_processor)
    return refusal("the runs' own costs are of RDMA devices; a prediction begins with runs over shared memory");
  Model model;
  model.each_ = more.each;
  model.transactions_per_request_ = more.transactions_per_request;
  model.extra_ns_ =
      (worker_ns(more) - worker_ns(less)) / (more.distributed_per_request() - less.distributed_per_request());
  model.local_ns_ = worker_ns(less) - less.distributed_per_request() * model.extra_ns_;
  if (model.extra_ns_ <= 0 || model.local_ns_ <= 0) {
    return refusal(fmt::format(
        "by '{}' and '{}' a request of one node takes {:.0f} ns, and each distributed transaction {:.0f} ns more; both "
        "must be above 0. The runs were disturbed, or not equal but for their distributed share: measure both again",
        less.path, more.path, model.local_ns_, model.extra_ns_));
  }
  // This is below 0 where operations overlap with other work, so that they cost less in a transaction than `bench
  // fabric` measures.
  model.beside_fabric_ns_ = model.extra_ns_ - model.fabric_ns(costs);
  return model;
}

Prediction Model::predict(double distributed_share, const Place& place) const {
  const double distributed = distributed_share * transactions_per_request_;
  const Costs& costs = place.costs;
  const double fabric = fabric_ns(costs);
  const double of_worker =
      costs.by_processor ? std::max(0.0, beside_fabric_ns_ + fabric) : software_ns() + each_.round_trips * costs.post;
  Prediction prediction{.processor_ns = local_ns_ + distributed * of_worker,
                        .waiting_ns = costs.by_processor ? 0 : distributed * waiting_ns(costs, place.fibers)};
  const double idle = idle_ns({.fibers = place.fibers,
                               .distributed_share = std::min(1.0, distributed_share),
                               .local_ns = local_ns_ / transactions_per_request_,
                               .distributed_ns = local_ns_ / transactions_per_request_ + of_worker,
                               .waits = waits(place.fibers),
                               .waiting_ns = costs.by_processor ? 0 : waiting_ns(costs, place.fibers)});
  const double threads = static_cast<double>(place.nodes) * place.workers;
  // A worker is busy, or all of its fibers wait. The cores are busy, or all of the workers wait.
  const double by_workers = threads / (prediction.processor_ns + distributed * idle);
  const double by_cores = running(place.nodes, place.workers, place.cores) / prediction.processor_ns;
  prediction.throughput = 1e9 * std::min(by_workers, by_cores);
  return prediction;
}

}  // namespace granary::bench::predict
