#include "src/cluster/transaction/remote_worker.h"

#include "src/cluster/transaction/remote_transaction.h"

namespace granary::cluster {

namespace {

/// Returns which state words that are no x-locks an x-lock may take the place of: leases that have expired. Under a
/// protocol that computes times they are rts, which keep nobody away.
LeaseExpired expiry(txn::WorkerCore& core, const base::SoftTime* time) {
  if (core.shared().settings.stamps_reads) return [](std::uint64_t) { return true; };
  return time == nullptr ? LeaseExpired() : expired_by(*time);
}

/// Returns the number of the worker's line among the misses of each node.
std::size_t misses_line_of(const NodeParts& node, std::uint32_t number) {
  return node.layout.index_of(node.fabric.node().node) * node.layout.workers + number;
}

}  // namespace

void RemoteWorker::Waiter::pause(std::uint32_t turn) {
  constexpr std::uint32_t kPolls = 64;
  scheduler_.yield();
  if (turn >= kPolls) thread_.pause(turn);
}

void RemoteWorker::Waiter::rest() {
  if (!scheduler_.is_alone()) return pause(base::kBoundedPauses);
  scheduler_.yield();
  thread_.rest();
}

RemoteWorker::RemoteWorker(NodeParts& node, txn::WorkerCore& core, std::uint32_t number,
                           rdma::fiber::Scheduler& scheduler, std::unique_ptr<rdma::Endpoint> endpoint)
    : core_(core),
      endpoint_(std::move(endpoint)),
      peers_(*endpoint_),
      messenger_({.layout = node.layout,
                  .mailboxes = node.mailboxes,
                  .own_node = node.fabric.node().node,
                  .worker = number,
                  .peers = peers_,
                  .scheduler = scheduler,
                  .now_us = node.now_us,
                  .timeout_us = node.timeout_us,
                  .connect_timeout_us = node.connect_timeout_us,
                  .lives = node.lives}),
      fibers_(*endpoint_, [this](const rdma::Completion& completion) { messenger_.completed(completion); }),
      waiter_(scheduler, node.waiter),
      lease_expired_(expiry(core, node.time)),
      reach_{.worker = core.state(),
             .scheduler = scheduler,
             .endpoint = fibers_,
             .peers = peers_,
             .waiter = waiter_,
             .messenger = messenger_,
             .directory = node.directory,
             .buffers = node.buffers,
             .holders = HolderWords(node.fabric.node().node, node.fabric.node().generation, number),
             .lease_expired = lease_expired_,
             .time = core.shared().settings.stamps_reads ? nullptr : node.time,
             .lease_us = node.lease_us,
             .reads_lease = node.reads_lease,
             .stamps_reads = core.shared().settings.stamps_reads,
             .misses_line = misses_line_of(node, number),
             .connect_timeout_us = node.connect_timeout_us,
             .now_us = node.now_us,
             .lives = node.lives,
             .layout = node.layout},
      patience_us_(node.timeout_us) {
  core_.state().waiter = &waiter_;
  core_.set_bodies(scheduler.where_current_number());
  core_.state().comes_back = &node.comes_back;
  const cc::SharedMissTimes& misses = core_.shared().misses;
  if (reach_.misses_line < misses.size()) core_.state().misses = &misses.line(reach_.misses_line);
  core_.set_remote(
      [this](const txn::Context& context) { return std::make_unique<RemoteTransaction>(reach_, context); });
}

RemoteWorker::~RemoteWorker() {
  core_.end_remote();
  core_.state().waiter = &core_.shared().waiter;
  core_.set_bodies(nullptr);
  core_.state().comes_back = nullptr;
  core_.state().misses = nullptr;
}

void RemoteWorker::finish() {
  core_.end_remote();
  reach_.undelivered.finish(reach_, patience_us_);
}

void RemoteWorker::await_arrival() {
  for (std::uint32_t turn = 0; core_.has_under_way(); ++turn) waiter_.pause(turn);
}

void RemoteWorker::poll() {
  fibers_.poll();
  if (core_.has_under_way()) core_.end_arrived();
  messenger_.step();
}

}  // namespace granary::cluster
