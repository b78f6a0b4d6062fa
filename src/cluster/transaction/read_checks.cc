#include "src/cluster/transaction/read_checks.h"

#include <algorithm>

#include "kvstore/remote/version_check.h"
#include "src/base/test_hooks.h"
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
  LineWrite(const rdma::RemoteAddress& line, const cc::SharedMissTimes::Line& own)
      : Step(line),
        line_(line),
        own_(own) {}

  void append(std::vector<rdma::Operation>& chain) override {
    chain.emplace_back() = rdma::Operation::write(line_, &own_, sizeof own_);
  }
  rdma::fiber::Next interpret() override { return rdma::fiber::Next::kEnded; }
  void fail(rdma::fiber::Failure) override { failed_ = true; }
  bool failed() const { return failed_; }

 private:
  rdma::RemoteAddress line_;
  const cc::SharedMissTimes::Line& own_;
  bool failed_ = false;
};

/// Returns an epoch that the node has reached: E of two nodes differs by at most one (I7), and the worker may have READ
/// a greater E there.
epoch::Epoch ReadChecks::reached_at(rdma::NodeId node) const {
  const epoch::Epoch here = footprint_.reach().worker.shared.epochs.current();
  return std::max(here - 1, footprint_.touched.reached_by(node));
}
/// Returns an epoch that the record's node has reached. The times of the record's version tell one, too, since they are
/// of epochs that had begun there.
epoch::Epoch ReadChecks::reached_at(const Access& access) const {
  return std::max(reached_at(access.key.home), record::epoch_of(access.rts()));
}

ReadChecks::Check ReadChecks::check_of(const Access& access, record::TidWord stamp) const {
  if (!access.needs_validation() || injected("skip-remote-validation")) return Check::kNone;
  if (!footprint_.reach().stamps_reads) return Check::kHeader;
  if (access.rts() >= stamp) return Check::kNone;
  return stamp <= record::make_tid(reached_at(access), 0) ? Check::kHeader : Check::kExtend;
}

bool ReadChecks::has_to_tell_misses(rdma::NodeId node, record::TidWord stamp) const {
  return stamp > record::make_tid(reached_at(node), 0) &&
         std::any_of(footprint_.nodes.begin(), footprint_.nodes.end(),
                     [node](const RemoteNodeSet::Seen& seen) { return seen.place.node == node; });
}

bool ReadChecks::can_check(record::TidWord stamp) const {
  if (!footprint_.reach().stamps_reads) return true;
  const epoch::Epoch epoch = record::epoch_of(stamp);
  if (footprint_.touched.have_all_reached(epoch)) return true;
  const AccessTable& accesses = footprint_.accesses;
  const bool records = std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return check_of(access, stamp) != Check::kExtend || epoch <= reached_at(access);
  });
  return records && std::all_of(footprint_.nodes.begin(), footprint_.nodes.end(),
                                [&](const RemoteNodeSet::Seen& seen) { return epoch <= reached_at(seen.place.node); });
}

bool ReadChecks::nothing_to_check() const {
  const AccessTable& accesses = footprint_.accesses;
  return footprint_.nodes.empty() &&
         std::none_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.needs_validation(); });
}

/// The steps of one round of checks.
struct ReadChecks::Round {
  /// `beside`: how many steps of the caller run in the same round.
  Round(Footprint& footprint, std::size_t beside)
      : epochs(footprint.trips.batch<EpochRead>(footprint.touched.size())),
        lines(footprint.trips.batch<LineWrite>(footprint.touched.size())),
        headers(footprint.trips.batch<HeaderRead>(footprint.accesses.size())),
        extensions(footprint.trips.batch<Extend>(footprint.accesses.size())),
        versions(footprint.trips.batch<VersionCheck>(footprint.nodes.size())),
        all(footprint.trips.batch<Step*>(2 * footprint.touched.size() + footprint.accesses.size() +
                                         footprint.nodes.size() + beside)) {}

  Batch<EpochRead> epochs;
  Batch<LineWrite> lines;
  Batch<HeaderRead> headers;
  Batch<Extend> extensions;
  Batch<VersionCheck> versions;
  Batch<Step*> all;  ///< all of these steps, in the order in which they go out
};

/// A WRITE replaces the worker's whole line at a node, whose words must not shrink. So the worker raises its line at
/// this node and WRITEs that line itself. It has all that the worker has told before at any node, and what former
/// workers with its number have told. A copy would not do: while one fiber waits for room in the queue, another one may
/// raise the line and WRITE it first.
void ReadChecks::add_lines(Round& round, record::TidWord stamp) {
  if (!footprint_.reach().stamps_reads || footprint_.nodes.empty() || injected("tictoc-tells-no-misses")) return;
  cc::SharedMissTimes::Line& own = *footprint_.reach().worker.misses;
  for (const rdma::NodeId node : footprint_.touched.nodes()) {
    if (!has_to_tell_misses(node, stamp)) continue;
    cc::SharedMissTimes::raise(own, footprint_.missed_tables, stamp);
    round.all.push_back(&round.lines.emplace_back(footprint_.touched.misses_line(node), own));
  }
}

AbortReason ReadChecks::add_records(Round& round, record::TidWord stamp) {
  for (const Access& access : footprint_.accesses) {
    const Check check = check_of(access, stamp);
    if (check == Check::kNone) continue;
    void* const room = footprint_.trips.buffer(Extend::kBufferBytes);
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    if (check == Check::kHeader) {
      round.all.push_back(&round.headers.emplace_back(access.record, access.seen.tid, access.record.incarnation, room));
      continue;
    }
    const record::StateWord seen = record::is_x_locked(access.seen.state) ? record::kFree : access.seen.state;
    round.all.push_back(&round.extensions.emplace_back(access.record, access.seen.tid, stamp, seen, room));
  }
  return AbortReason::kNone;
}

AbortReason ReadChecks::add_versions(Round& round) {
  for (const RemoteNodeSet::Seen& seen : footprint_.nodes) {
    if (injected("skip-remote-nodes")) break;
    auto* const room = static_cast<std::uint64_t*>(footprint_.trips.buffer(base::kWord));
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    const RemoteIndexNode& node = seen.place;
    const rdma::RemoteAddress at = footprint_.touched.at(node.node, node.offset);
    round.all.push_back(&round.versions.emplace_back(node.kind, at, seen.version, room));
  }
  return AbortReason::kNone;
}

AbortReason ReadChecks::run(Epochs epochs, record::TidWord stamp, std::span<AccessStep* const> beside) {
  Round round(footprint_, beside.size());
  if (epochs == Epochs::kInFront && !footprint_.touched.add_epoch_reads(round.epochs, round.all))
    return AbortReason::kBuffersUsedUp;
  add_lines(round, stamp);
  if (const AbortReason unmade = add_records(round, stamp); failed(unmade)) return unmade;
  if (const AbortReason unmade = add_versions(round); failed(unmade)) return unmade;
  for (AccessStep* const step : beside) round.all.push_back(step);
  footprint_.trips.run(TripPhase::kValidate, std::span<Step* const>(round.all));
  return reason_of(round);
}

/// Returns why the transaction must end by the outcomes of the steps, which have been run, or kNone.
AbortReason ReadChecks::reason_of(const Round& round) {
  AbortReason reason = footprint_.touched.adopt_epochs(round.epochs);
  if (failed(reason)) return reason;
  for (const HeaderRead& header : round.headers) {
    if (reason = reason_of_check(header); failed(reason)) return reason;
  }
  for (const Extend& extension : round.extensions) {
    if (reason = reason_of_check(extension); failed(reason)) return reason;
  }
  for (const LineWrite& line : round.lines) {
    if (line.failed()) return abort_reason_of_failure(line, footprint_.reach());
  }
  for (const VersionCheck& version : round.versions) {
    if (version.outcome() == VersionCheck::Outcome::kChanged) return AbortReason::kNodeChanged;
    if (version.outcome() != VersionCheck::Outcome::kUnchanged)
      return abort_reason_of_failure(version, footprint_.reach());
  }
  return AbortReason::kNone;
}

AbortReason ReadChecks::reason_of_check(const AccessStep& step) const {
  return step.outcome() == AccessOutcome::kBusy ? AbortReason::kReadLocked : abort_reason_of(step, footprint_.reach());
}

}  // namespace granary::cluster
