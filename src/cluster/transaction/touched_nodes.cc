#include "src/cluster/transaction/touched_nodes.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/holder_liveness.h"
#include "src/cluster/record_access/regions.h"
#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {

using base::injected;

namespace {

/// How often a transaction looks at a participant's E before it gives up. Other fibers run between two looks.
constexpr unsigned kMostEpochLooks = 1 << 16;

}  // namespace

AbortReason TouchedNodes::touch(rdma::NodeId node, bool sealed) {
  for (TouchedNode& known : all_) {
    if (known.node != node) continue;
    known.agrees |= !sealed;
    return AbortReason::kNone;
  }
  Reach& reach = trips_.reach();
  if (!reach.connect(node)) return cc::abort_reason_of_node(node, reach.worker);
  const rdma::Generation life = reach.peers.generation(node);
  all_.push_back({.node = node,
                  .control = {.node = node, .region = kControlRegion, .generation = life, .offset = 0},
                  .agrees = !sealed});
  return AbortReason::kNone;
}

std::size_t TouchedNodes::index_of(rdma::NodeId node) const {
  const auto known =
      std::find_if(all_.begin(), all_.end(), [node](const TouchedNode& one) { return one.node == node; });
  base::always_check(known != all_.end(), "only participants are reached");
  return static_cast<std::size_t>(known - all_.begin());
}

rdma::RemoteAddress TouchedNodes::at(rdma::NodeId node, std::uint64_t offset) const {
  rdma::RemoteAddress address = get(node).control;
  address.region = kDataRegion;
  address.offset = offset;
  return address;
}

rdma::RemoteAddress TouchedNodes::misses_line(rdma::NodeId node) const {
  return get(node).control.plus(sizeof(epoch::ControlBlock) +
                                trips_.reach().misses_line * sizeof(cc::SharedMissTimes::Line));
}

Batch<rdma::NodeId> TouchedNodes::nodes() const {
  Batch<rdma::NodeId> nodes = trips_.batch<rdma::NodeId>(all_.size());
  for (const TouchedNode& one : all_) nodes.push_back(one.node);
  return nodes;
}

epoch::Epoch TouchedNodes::reached_by(rdma::NodeId node) const {
  return trips_.reach().known_epochs.of(node, get(node).control.generation);
}

bool TouchedNodes::have_all_reached(epoch::Epoch epoch) const {
  const KnownEpochs& known = trips_.reach().known_epochs;
  return std::all_of(all_.begin(), all_.end(),
                     [&](const TouchedNode& one) { return known.of(one.node, one.control.generation) >= epoch; });
}

void TouchedNodes::note_epoch(TouchedNode& touched, epoch::Epoch epoch) {
  touched.epoch = epoch;
  trips_.reach().known_epochs.note(touched.node, touched.control.generation, epoch);
}

std::optional<record::TidWord> TouchedNodes::missed(rdma::NodeId node, std::uint32_t table) const {
  const TouchedNode& touched = get(node);
  if (!touched.missed) return std::nullopt;
  return (*touched.missed)[table % cc::SharedMissTimes::kTables];
}

void TouchedNodes::adopt_misses(const EpochRead& read, TouchedNode& touched) const {
  const auto* words = static_cast<const record::TidWord*>(read.bytes()) + sizeof(epoch::ControlBlock) / base::kWord;
  auto& missed = touched.missed.emplace();
  for (std::size_t i = 0; i < trips_.reach().misses_lines() * cc::SharedMissTimes::kTables; ++i)
    missed[i % cc::SharedMissTimes::kTables] = std::max(missed[i % cc::SharedMissTimes::kTables], words[i]);
}

bool TouchedNodes::reconnect(rdma::NodeId node) {
  if (std::find(silent_.begin(), silent_.end(), node) != silent_.end()) return false;
  const bool connected = trips_.reach().connect(node);
  if (!connected) silent_.push_back(node);
  return connected;
}

void TouchedNodes::clear() {
  all_.clear();
  silent_.clear();
}

bool TouchedNodes::epochs_known() const { return all_read_at_least(1); }

epoch::Epoch TouchedNodes::greatest_epoch() const {
  epoch::Epoch greatest = 0;
  for (const TouchedNode& one : all_) greatest = std::max(greatest, one.epoch);
  return greatest;
}

AbortReason TouchedNodes::run_before_epochs(TripPhase phase, std::span<AccessStep* const> holds, With with) {
  const std::size_t bytes = with == With::kEpoch ? EpochRead::kBufferBytes
                                                 : sizeof(epoch::ControlBlock) + trips_.reach().misses_lines() *
                                                                                     sizeof(cc::SharedMissTimes::Line);
  const auto holding_at = [holds](rdma::NodeId node) {
    return std::any_of(holds.begin(), holds.end(), [node](const AccessStep* step) {
      return step->node() == node && step->outcome() == AccessOutcome::kOpen;
    });
  };
  Batch<Step*> steps = trips_.batch<Step*>(holds.size() + all_.size());
  Batch<EpochRead> epochs = trips_.batch<EpochRead>(all_.size());
  for (AccessStep* const hold : holds) steps.push_back(hold);
  for (const TouchedNode& touched : all_) {
    void* const room = trips_.buffer(bytes);
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    EpochRead::Until until;
    if (!injected("epoch-before-locks")) {
      until.others = [&holding_at, node = touched.node] { return holding_at(node); };
    }
    steps.push_back(&epochs.emplace_back(touched.control, room, std::move(until), bytes));
  }
  trips_.run(phase, std::span<Step* const>(steps));
  const AbortReason reason = adopt_epochs(epochs);
  for (std::size_t i = 0; !failed(reason) && with == With::kMisses && i < epochs.size(); ++i)
    adopt_misses(epochs[i], all_[i]);
  return reason;
}

bool TouchedNodes::add_epoch_reads(Batch<EpochRead>& reads, Batch<Step*>& steps) {
  for (const TouchedNode& touched : all_) {
    void* const room = trips_.buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return false;
    steps.push_back(&reads.emplace_back(touched.control, room));
  }
  return true;
}

AbortReason TouchedNodes::adopt_epochs(const Batch<EpochRead>& reads) {
  for (std::size_t i = 0; i < reads.size(); ++i) note_epoch(all_[i], reads[i].epoch());
  for (const EpochRead& read : reads) {
    if (read.epoch() == 0) return abort_reason_of_failure(read, trips_.reach());
  }
  return AbortReason::kNone;
}

AbortReason TouchedNodes::await_epoch(epoch::Epoch agreed) {
  Reach& reach = trips_.reach();
  Batch<EpochRead> epochs = trips_.batch<EpochRead>(all_.size());
  Batch<Step*> steps = trips_.batch<Step*>(all_.size());
  for (const TouchedNode& touched : all_) {
    if (touched.was_read_at_least(agreed)) continue;
    void* const room = trips_.buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    // The leader does not advance E of a node that is no member any more. A node that is shut out itself cannot commit
    // anyway.
    const auto in_vain = [&reach, node = touched.node] {
      return !reach.is_member(node) || cc::may_not_commit(reach.worker.shared);
    };
    steps.push_back(&epochs.emplace_back(
        touched.control, room, EpochRead::Until{.at_least = agreed, .looks = kMostEpochLooks, .in_vain = in_vain}));
  }
  if (steps.empty()) return AbortReason::kNone;
  cc::bump(reach.counters.epoch_waits, std::uint64_t{1});
  trips_.run(TripPhase::kAgree, std::span<Step* const>(steps));
  for (const EpochRead& read : epochs) {
    if (read.reached()) {
      note_epoch(all_[index_of(read.node())], read.epoch());
      continue;
    }
    return read.epoch() == 0 || !reach.is_member(read.node()) ? abort_reason_of_failure(read, reach)
                                                              : AbortReason::kEpochsApart;
  }
  return AbortReason::kNone;
}

}  // namespace granary::cluster
