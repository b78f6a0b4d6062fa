#include "src/cluster/transaction/participants.h"

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

AbortReason Participants::touch(rdma::NodeId node, bool sealed) {
  for (Participant& known : all_) {
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

std::size_t Participants::index_of(rdma::NodeId node) const {
  const auto known =
      std::find_if(all_.begin(), all_.end(), [node](const Participant& one) { return one.node == node; });
  base::always_check(known != all_.end(), "only participants are reached");
  return static_cast<std::size_t>(known - all_.begin());
}

rdma::RemoteAddress Participants::at(rdma::NodeId node, std::uint64_t offset) const {
  rdma::RemoteAddress address = get(node).control;
  address.region = kDataRegion;
  address.offset = offset;
  return address;
}

rdma::RemoteAddress Participants::misses_line(rdma::NodeId node) const {
  return get(node).control.plus(sizeof(epoch::ControlBlock) + trips_.reach().misses_line * sizeof(cc::Misses::Line));
}

Batch<rdma::NodeId> Participants::nodes() const {
  Batch<rdma::NodeId> nodes = trips_.batch<rdma::NodeId>(all_.size());
  for (const Participant& one : all_) nodes.push_back(one.node);
  return nodes;
}

epoch::Epoch Participants::reached_by(rdma::NodeId node) const {
  return trips_.reach().known_epochs.of(node, get(node).control.generation);
}

bool Participants::have_all_reached(epoch::Epoch epoch) const {
  const KnownEpochs& known = trips_.reach().known_epochs;
  return std::all_of(all_.begin(), all_.end(),
                     [&](const Participant& one) { return known.of(one.node, one.control.generation) >= epoch; });
}

void Participants::note_epoch(Participant& participant, epoch::Epoch epoch) {
  participant.epoch = epoch;
  trips_.reach().known_epochs.note(participant.node, participant.control.generation, epoch);
}

std::optional<record::TidWord> Participants::missed(rdma::NodeId node, std::uint32_t table) const {
  const Participant& participant = get(node);
  if (!participant.missed) return std::nullopt;
  return (*participant.missed)[table % cc::Misses::kTables];
}

void Participants::adopt_misses(const EpochRead& read, Participant& participant) const {
  const auto* words = static_cast<const record::TidWord*>(read.bytes()) + sizeof(epoch::ControlBlock) / base::kWord;
  auto& missed = participant.missed.emplace();
  for (std::size_t i = 0; i < trips_.reach().misses_lines() * cc::Misses::kTables; ++i)
    missed[i % cc::Misses::kTables] = std::max(missed[i % cc::Misses::kTables], words[i]);
}

bool Participants::reconnect(rdma::NodeId node) {
  if (std::find(silent_.begin(), silent_.end(), node) != silent_.end()) return false;
  const bool connected = trips_.reach().connect(node);
  if (!connected) silent_.push_back(node);
  return connected;
}

void Participants::clear() {
  all_.clear();
  silent_.clear();
}

bool Participants::epochs_known() const { return all_read_at_least(1); }

epoch::Epoch Participants::greatest_epoch() const {
  epoch::Epoch greatest = 0;
  for (const Participant& one : all_) greatest = std::max(greatest, one.epoch);
  return greatest;
}

AbortReason Participants::run_before_epochs(TripPhase phase, std::span<AccessStep* const> holds, With with) {
  const std::size_t bytes =
      with == With::kEpoch ? EpochRead::kBufferBytes
                           : sizeof(epoch::ControlBlock) + trips_.reach().misses_lines() * sizeof(cc::Misses::Line);
  const auto holding_at = [holds](rdma::NodeId node) {
    return std::any_of(holds.begin(), holds.end(), [node](const AccessStep* step) {
      return step->node() == node && step->outcome() == AccessOutcome::kOpen;
    });
  };
  Batch<Step*> steps = trips_.batch<Step*>(holds.size() + all_.size());
  Batch<EpochRead> epochs = trips_.batch<EpochRead>(all_.size());
  for (AccessStep* const hold : holds) steps.push_back(hold);
  for (const Participant& participant : all_) {
    void* const room = trips_.buffer(bytes);
    if (room == nullptr) return AbortReason::kOutOfMemory;
    EpochRead::Until until;
    if (!injected("epoch-before-locks")) {
      until.others = [&holding_at, node = participant.node] { return holding_at(node); };
    }
    steps.push_back(&epochs.emplace_back(participant.control, room, std::move(until), bytes));
  }
  trips_.run(phase, std::span<Step* const>(steps));
  const AbortReason reason = adopt_epochs(epochs);
  for (std::size_t i = 0; !failed(reason) && with == With::kMisses && i < epochs.size(); ++i)
    adopt_misses(epochs[i], all_[i]);
  return reason;
}

bool Participants::add_epoch_reads(Batch<EpochRead>& reads, Batch<Step*>& steps) {
  for (const Participant& participant : all_) {
    void* const room = trips_.buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return false;
    steps.push_back(&reads.emplace_back(participant.control, room));
  }
  return true;
}

AbortReason Participants::adopt_epochs(const Batch<EpochRead>& reads) {
  for (std::size_t i = 0; i < reads.size(); ++i) note_epoch(all_[i], reads[i].epoch());
  for (const EpochRead& read : reads) {
    if (read.epoch() == 0) return abort_reason_of_failure(read, trips_.reach());
  }
  return AbortReason::kNone;
}

AbortReason Participants::await_epoch(epoch::Epoch agreed) {
  Reach& reach = trips_.reach();
  Batch<EpochRead> epochs = trips_.batch<EpochRead>(all_.size());
  Batch<Step*> steps = trips_.batch<Step*>(all_.size());
  for (const Participant& participant : all_) {
    if (participant.was_read_at_least(agreed)) continue;
    void* const room = trips_.buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return AbortReason::kOutOfMemory;
    // The leader does not advance E of a node that is no member any more. A node that is shut out itself cannot commit
    // anyway.
    const auto in_vain = [&reach, node = participant.node] {
      return !reach.is_member(node) || cc::may_not_commit(reach.worker.shared);
    };
    steps.push_back(&epochs.emplace_back(
        participant.control, room, EpochRead::Until{.at_least = agreed, .looks = kMostEpochLooks, .in_vain = in_vain}));
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
