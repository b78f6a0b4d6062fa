#include "src/cluster/transaction/read_checks.h"

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cc/tictoc/slack.h"
#include "src/cluster/record_access/extend.h"
#include "src/cluster/record_access/header_read.h"
#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {

using base::injected;
using kvstore::remote::VersionCheck;

/// A step that WRITEs the worker's line of misses at a node.
class LineWrite final : public Step {
 public:
  /// `own`: the worker's line at this node, which lies in registered memory.
  LineWrite(const rdma::RemoteAddress& line, const cc::Misses::Line& own) : Step(line), line_(line), own_(own) {}

  void append(std::vector<rdma::Operation>& chain) override {
    chain.push_back(rdma::Operation::write(line_, &own_, sizeof own_));
  }
  rdma::fiber::Next settle() override { return rdma::fiber::Next::kEnded; }
  void fail(rdma::fiber::Failure) override { failed_ = true; }
  bool failed() const { return failed_; }

 private:
  rdma::RemoteAddress line_;
  const cc::Misses::Line& own_;
  bool failed_ = false;
};

/// Returns an epoch that the node has reached: E of two nodes differs by at most one (I7), and the worker may have READ
/// a greater E there.
epoch::Epoch ReadChecks::reached_at(rdma::NodeId node) const {
  const epoch::Epoch here = footprint_.reach().worker.shared.epochs.current();
  return std::max(here - 1, footprint_.participants.reached_by(node));
}
/// Returns an epoch that the record's node has reached. The times of the record's version tell one, too, since they are
/// of epochs that had begun there.
epoch::Epoch ReadChecks::reached_at(const Access& access) const {
  return std::max(reached_at(access.key.home), record::epoch_of(access.rts()));
}

ReadChecks::Check ReadChecks::check_of(const Access& access, record::TidWord stamp) const {
  if (!access.optimistic() || injected("skip-remote-validation")) return Check::kNone;
  if (!footprint_.reach().timed) return Check::kHeader;
  if (access.rts() >= stamp) return Check::kNone;
  return stamp <= record::make_tid(reached_at(access), 0) ? Check::kHeader : Check::kExtend;
}

bool ReadChecks::has_to_tell_misses(rdma::NodeId node, record::TidWord stamp) const {
  return stamp > record::make_tid(reached_at(node), 0) &&
         std::any_of(footprint_.nodes.begin(), footprint_.nodes.end(),
                     [node](const RemoteNodeSet::Seen& seen) { return seen.place.node == node; });
}

bool ReadChecks::possible(record::TidWord stamp) const {
  if (!footprint_.reach().timed) return true;
  const epoch::Epoch epoch = record::epoch_of(stamp);
  if (footprint_.participants.have_all_reached(epoch)) return true;
  const AccessTable& accesses = footprint_.accesses;
  const bool records = std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return check_of(access, stamp) != Check::kExtend || epoch <= reached_at(access);
  });
  return records && std::all_of(footprint_.nodes.begin(), footprint_.nodes.end(),
                                [&](const RemoteNodeSet::Seen& seen) { return epoch <= reached_at(seen.place.node); });
}

bool ReadChecks::none() const {
  const AccessTable& accesses = footprint_.accesses;
  return footprint_.nodes.empty() &&
         std::none_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.optimistic(); });
}

/// A WRITE replaces the worker's whole line at a node, whose words must not shrink. So the worker raises its line at
/// this node and WRITEs that line itself. It has all that the worker has told before at any node, and what former
/// workers with its number have told. A copy would not do: while one fiber waits for room in the queue, another one may
/// raise the line and WRITE it first.
void ReadChecks::add_lines(Batch<LineWrite>& lines, Batch<Step*>& steps, record::TidWord stamp) {
  if (!footprint_.reach().timed || footprint_.nodes.empty() || injected("tictoc-tells-no-misses")) return;
  cc::Misses::Line& own = *footprint_.reach().worker.misses;
  for (const rdma::NodeId node : footprint_.participants.nodes()) {
    if (!has_to_tell_misses(node, stamp)) continue;
    cc::Misses::raise(own, footprint_.tables_of_nodes, stamp);
    steps.push_back(&lines.emplace_back(footprint_.participants.line(node), own));
  }
}

AbortReason ReadChecks::add_records(Batch<HeaderRead>& headers, Batch<Extend>& extensions, Batch<Step*>& steps,
                                    record::TidWord stamp) {
  for (const Access& access : footprint_.accesses) {
    const Check check = check_of(access, stamp);
    if (check == Check::kNone) continue;
    void* const room = footprint_.trips.buffer(Extend::kBufferBytes);
    if (room == nullptr) return AbortReason::kOutOfMemory;
    if (check == Check::kHeader) {
      steps.push_back(&headers.emplace_back(access.record, access.seen.tid, access.record.incarnation, room));
    } else {
      const record::TidWord rts = cc::tictoc::raised(record::tid_of(access.seen.tid), stamp, record::epoch_of(stamp));
      const record::StateWord seen = record::is_x_locked(access.seen.state) ? record::kFree : access.seen.state;
      steps.push_back(&extensions.emplace_back(access.record, access.seen.tid,
                                               Extend::Wanted{.least = stamp, .rts = rts}, seen, room));
    }
  }
  return AbortReason::kNone;
}

bool ReadChecks::add_versions(Batch<VersionCheck>& versions, Batch<Step*>& steps) {
  for (const RemoteNodeSet::Seen& seen : footprint_.nodes) {
    if (injected("skip-remote-nodes")) break;
    auto* const room = static_cast<std::uint64_t*>(footprint_.trips.buffer(base::kWord));
    if (room == nullptr) return false;
    const RemotePlace& place = seen.place;
    const rdma::RemoteAddress at = footprint_.participants.at(place.node, place.offset);
    steps.push_back(&versions.emplace_back(place.kind, at, seen.version, room));
  }
  return true;
}

AbortReason ReadChecks::run(Epochs epochs, record::TidWord stamp, std::span<AccessStep* const> beside) {
  Trips& trips = footprint_.trips;
  Participants& participants = footprint_.participants;
  Batch<EpochRead> in_front = trips.batch<EpochRead>(participants.size());
  Batch<LineWrite> lines = trips.batch<LineWrite>(participants.size());
  Batch<HeaderRead> headers = trips.batch<HeaderRead>(footprint_.accesses.size());
  Batch<Extend> extensions = trips.batch<Extend>(footprint_.accesses.size());
  Batch<VersionCheck> versions = trips.batch<VersionCheck>(footprint_.nodes.size());
  Batch<Step*> steps = trips.batch<Step*>(2 * participants.size() + footprint_.accesses.size() +
                                          footprint_.nodes.size() + beside.size());
  if (epochs == Epochs::kInFront && !participants.add_epoch_reads(in_front, steps)) return AbortReason::kOutOfMemory;
  add_lines(lines, steps, stamp);
  AbortReason reason = add_records(headers, extensions, steps, stamp);
  if (reason != AbortReason::kNone) return reason;
  if (!add_versions(versions, steps)) return AbortReason::kOutOfMemory;
  for (AccessStep* const step : beside) steps.push_back(step);
  trips.run(Phase::kValidate, std::span<Step* const>(steps));
  reason = epochs == Epochs::kInFront ? participants.adopt_epochs(in_front) : AbortReason::kNone;
  if (reason != AbortReason::kNone) return reason;
  for (const HeaderRead& header : headers) {
    if (reason = reason_of_check(header); reason != AbortReason::kNone) return reason;
  }
  for (const Extend& extension : extensions) {
    if (reason = reason_of_check(extension); reason != AbortReason::kNone) return reason;
  }
  for (const LineWrite& line : lines) {
    if (line.failed()) return why_failed(line, footprint_.reach());
  }
  for (const VersionCheck& version : versions) {
    if (version.outcome() == VersionCheck::Outcome::kChanged) return AbortReason::kNodeChanged;
    if (version.outcome() != VersionCheck::Outcome::kUnchanged) return why_failed(version, footprint_.reach());
  }
  return AbortReason::kNone;
}

AbortReason ReadChecks::reason_of_check(const AccessStep& step) const {
  return step.outcome() == Outcome::kBusy ? AbortReason::kReadLocked : abort_reason_of(step, footprint_.reach());
}

}  // namespace granary::cluster
