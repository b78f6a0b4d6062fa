#include "src/cluster/cluster_epoch/leader.h"

#include <fmt/format.h>

#include "src/base/check.h"

namespace granary::cluster {

using epoch::ControlBlock;
using rdma::Operation;
using rdma::fiber::Failure;
using rdma::fiber::Next;
using rdma::fiber::Step;

/// One round: READs a control block. Its words may be of different moments, which plan.h allows for.
class EpochLeader::Look : public Step {
 public:
  Look(const rdma::RemoteAddress& at, Place& place) : Step(at), at_(at), place_(place) {}

  void append(std::vector<Operation>& chain) override {
    chain.emplace_back() = Operation::read(&place_.block, at_, sizeof(ControlBlock));
  }
  Next interpret() override { return Next::kEnded; }
  void fail(Failure failure) override { failure_ = failure; }

  std::optional<Failure> failure() const { return failure_; }

 protected:
  const rdma::RemoteAddress at_;
  Place& place_;

 private:
  std::optional<Failure> failure_;
};

/// READs the control block as Look does, after one CAS for each word to raise. Whether they succeed shows at the next
/// look.
class EpochLeader::Change final : public Look {
 public:
  Change(const rdma::RemoteAddress& at, Place& place, const MemberView& seen, const Raise& raise)
      : Look(at, place),
        seen_(seen),
        raise_(raise) {}

  bool nothing() const { return raise_.nothing(); }
  void append(std::vector<Operation>& chain) override {
    using Words = ControlBlock::ByLeader;
    add(chain, 0, offsetof(Words, epoch), seen_.epoch, raise_.epoch);
    add(chain, 1, offsetof(Words, durable), seen_.durable, raise_.durable);
    add(chain, 2, offsetof(Words, snapshot_reclamation), seen_.snapshot_reclamation, raise_.snapshot_reclamation);
    add(chain, 3, offsetof(Words, admitted), seen_.admitted, raise_.admitted);
    add(chain, 4, offsetof(Words, checkpoint), seen_.checkpoint, raise_.checkpoint);
  }

 private:
  void add(std::vector<Operation>& chain, std::size_t word, std::size_t offset, std::uint64_t from, std::uint64_t to) {
    if (to == 0) return;
    base::debug_invariant("I7", [&] { return to > from; });
    const rdma::RemoteAddress at = at_.plus(offsetof(ControlBlock, by_leader) + offset);
    chain.emplace_back() = Operation::compare_swap(at, from, to, &place_.old_words[word]);
  }

  const MemberView seen_;
  const Raise raise_;
};

namespace {

std::string cause_of(Failure failure) {
  switch (failure) {
    case Failure::kBroken: return "the connection broke";
    case Failure::kStale: return "it was started again";
    case Failure::kRefused: return "it has no control block where the configuration says";
  }
  return {};
}

}  // namespace

Status TurnReport::status() const {
  switch (turn) {
    case Turn::kAdvanced:
    case Turn::kSettling:
    case Turn::kWaiting: return {};
    case Turn::kUnreachable:
      return {
          StatusCode::kUnavailable,
          fmt::format("node {} does not answer the leader of epochs ({}); the epoch stays {} until it does, or until "
                      "there is a configuration without it",
                      node, cause, epoch)};
    case Turn::kSuperseded:
      return {StatusCode::kFailedPrecondition,
              fmt::format("node {} acts in a later configuration than this leader of epochs, which stops", node)};
  }
  return {};
}

EpochLeader::EpochLeader(LeaderOptions options, const LeaderMeans& means)
    : options_(std::move(options)),
      peers_(means.peers),
      rounds_(means.scheduler, means.endpoint, means.peers, means.waiter),
      places_(static_cast<Place*>(means.buffer)) {
  std::uninitialized_value_construct_n(places_, options_.members.size());
}

std::optional<TurnReport> EpochLeader::step(std::uint64_t now_us) {
  if (now_us < next_us_) return {};
  TurnReport report = turn();
  const bool at_once = report.turn == Turn::kSettling || (report.turn == Turn::kAdvanced && hurry_);
  // Held back: look again soon, since the others wait as well.
  constexpr std::uint64_t kLooksInPeriod = 8;
  next_us_ = now_us + (at_once                         ? 0
                       : report.turn == Turn::kWaiting ? options_.period_us / kLooksInPeriod
                                                       : options_.period_us);
  return report;
}

TurnReport EpochLeader::turn() {
  if (const auto failed = look()) return *failed;
  const Plan plan = plan_turn(options_.configuration, views_, options_.going);
  hurry_ = plan.hurry;
  if (plan.epoch != 0) last_epoch_ = plan.epoch;
  TurnReport report{.turn = plan.turn, .epoch = last_epoch_, .node = options_.members[plan.member].node};
  if (plan.raises.empty()) return report;
  if (const auto failed = change(plan.raises)) return *failed;
  if (plan.turn == Turn::kAdvanced) report.epoch = ++last_epoch_;
  return report;
}

std::optional<TurnReport> EpochLeader::look() {
  if (auto failed = connect()) return failed;
  std::vector<Look> looks;
  for (std::size_t i = 0; i < options_.members.size(); ++i) looks.emplace_back(options_.members[i], places_[i]);
  std::vector<Step*> steps;
  for (Look& one : looks) steps.push_back(&one);
  rounds_.run(steps);
  views_.clear();
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (looks[i].failure()) return unreachable(options_.members[i].node, cause_of(*looks[i].failure()));
    views_.push_back(view(places_[i].block));
  }
  return {};
}

/// Connects with the members. They live, as the configuration has them. So one whose connection broke is waited for
/// with growing patience: the epoch of the whole cluster stands still until a handshake with it comes about.
std::optional<TurnReport> EpochLeader::connect() {
  for (const rdma::RemoteAddress& member : options_.members) {
    peers_.note_heard(member.node);
    const Status connected = peers_.connect(member.node, options_.connect_timeout_us);
    if (!connected.ok()) return unreachable(member.node, connected.message());
  }
  return {};
}

std::optional<TurnReport> EpochLeader::change(const std::vector<Raise>& raises) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < raises.size(); ++i) {
    changes.emplace_back(options_.members[i], places_[i], views_[i], raises[i]);
  }
  std::vector<Step*> steps;
  for (Change& one : changes) {
    if (!one.nothing()) steps.push_back(&one);
  }
  rounds_.run(steps);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].failure()) return unreachable(options_.members[i].node, cause_of(*changes[i].failure()));
  }
  return {};
}

TurnReport EpochLeader::unreachable(rdma::NodeId node, std::string cause) const {
  return {.turn = Turn::kUnreachable, .epoch = last_epoch_, .node = node, .cause = std::move(cause)};
}

}  // namespace granary::cluster
