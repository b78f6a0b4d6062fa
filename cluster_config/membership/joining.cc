// How a node becomes a member: what keeps it from that, what it waits for, and how it enters the configuration.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "cluster_config/membership/member_text.h"
#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/missing_marks.h"
#include "cluster_config/membership/patient_board.h"
#include "src/base/test_hooks.h"

namespace granary::membership {
namespace {

std::uint64_t draw_cluster_id() {
  std::random_device random;
  std::uint64_t id = 0;
  while (id == 0) id = std::uint64_t{random()} << 32 | random();
  return id;
}

std::string release_of(std::string_view release, std::uint64_t protocol) {
  return fmt::format("granary {} (protocol {:016x})", release.empty() ? "of an older release" : release, protocol);
}

/// Does what comes before a node enters the configuration: it looks whether the node may join, and waits until it can.
class Joining {
 public:
  Joining(const MembershipOptions& options, ConfigurationDocument& document)
      : options_(options),
        document_(document),
        board_(document.board()) {}

  Status admit(Configuration& configuration) const;
  /// Whether others serve to which this node comes back.
  Result<bool> rejoins(const Configuration& configuration) const;
  /// Returns another member that serves by the configuration, whether its mark is there or not; nullptr if there is
  /// none, or if nodes never come back to others that serve.
  const Member* still_serves(const Configuration& configuration) const;
  Status check_data(const Configuration& configuration) const;
  /// Under Options::salvage: forgets nodes that are not in the cluster file any more.
  void forget_nodes(Configuration& configuration) const;
  Status make_mark();
  Status await_debts(std::uint64_t patience_us);
  Status await_deaths();
  /// Whether this node may join for a visit: await_debts() has ended for that reason.
  bool may_visit() const { return may_visit_; }

 private:
  Status check_cluster(Configuration& configuration) const;
  Status compare(Configuration& configuration) const;
  Status check_nodes(const Configuration& configuration) const;
  bool is_known(const Member& member) const;
  Status mark() { return board_.mark(options_.node, options_.address); }
  Status mark_together(std::uint64_t patience_us);
  Status await_together(std::uint64_t patience_us);
  const Member* other_that_serves(const Configuration& found, const Marks& marks) const;
  Status end_former_life(bool marked);
  Status await_former_fence();

  const MembershipOptions& options_;
  ConfigurationDocument& document_;
  Board& board_;
  MissingMarks missing_marks_;  ///< those of members that serve by the configuration
  bool may_visit_ = false;
};

/// Makes this node's mark, once nobody counts on an earlier life of it any more.
Status Joining::make_mark() {
  if (options_.together_us) return mark_together(std::max(*options_.together_us, board_.linger_us()));
  Status marked = mark();
  return marked.ok() ? await_former_fence() : marked;
}

/// Nobody begins to serve while this node is dead by the configuration, as all must live for that; so it is made that
/// before it looks whether somebody serves already. A mark of its own that is there is of an earlier life, or mark()
/// tells whose.
Status Joining::mark_together(std::uint64_t patience_us) {
  const auto unmarked =
      document_.await(patience_us, options_.give_up,
                      [this](const Configuration&, const Marks& marks) { return !has(marks, options_.node); });
  if (!unmarked.ok()) return unmarked.status();
  if (!*unmarked) {
    if (Status marked = mark(); !marked.ok()) return marked;
  }
  if (Status over = await_former_fence(); !over.ok()) return over;
  if (Status ended = end_former_life(/*marked=*/!*unmarked); !ended.ok()) return ended;
  if (Status may = options_.rejoins_us ? await_debts(*options_.rejoins_us) : await_together(patience_us); !may.ok())
    return may;
  return *unmarked ? mark() : Status();
}

/// Returns another member that serves, by its mark as well; nullptr if there is none.
const Member* Joining::other_that_serves(const Configuration& found, const Marks& marks) const {
  const auto member = std::ranges::find_if(found.members, [&](const Member& other) {
    return other.state == MemberState::kServing && other.id != options_.node && has(marks, other.id);
  });
  return member == found.members.end() ? nullptr : &*member;
}

Status Joining::await_together(std::uint64_t patience_us) {
  std::string serving;
  const auto together =
      document_.await(patience_us, options_.give_up, [&](const Configuration& found, const Marks& marks) {
        const Member* const other = other_that_serves(found, marks);
        serving = other == nullptr ? "" : who(*other);
        return serving.empty();
      });
  if (!together.ok()) return together.status();
  if (*together) return {};
  return Status(
      StatusCode::kUnavailable,
      fmt::format("{} serves, and node {} does not belong to what runs there: one node cannot come back alone. End "
                  "all nodes of the cluster, then start all of them",
                  serving, options_.node));
}

/// A node comes back to others that serve only when nobody owes anything: what it is to load is whole then. Or it
/// visits, to recover itself what is owed.
Status Joining::await_debts(std::uint64_t patience_us) {
  std::string waits_for;
  std::optional<Configuration> visited;
  const auto settled =
      document_.await(patience_us, options_.give_up, [&](const Configuration& found, const Marks& marks) {
        waits_for = found.owed.empty() ? "" : debt_text(found.owed.front());
        if (found.owed.empty() || other_that_serves(found, marks) == nullptr) return true;
        if (options_.visits(found)) visited = found;
        return visited.has_value();
      });
  if (!settled.ok()) return settled.status();
  if (visited) {
    const Status may = options_.check_visit(*visited);
    may_visit_ = may.ok();
    return may;
  }
  if (*settled) return {};
  return Status(StatusCode::kUnavailable, fmt::format("node {} cannot come back after {} ms, since {}", options_.node,
                                                      patience_us / 1000, waits_for));
}

/// Waits until each member that serves by the configuration either has its mark or is dead in the configuration. The
/// last node that served may have lost its mark just now, and then nobody else is there to count it as dead.
Status Joining::await_deaths() {
  for (;;) {
    bool waits = false;
    const Status looked = document_.amend([this, &waits](Configuration& configuration) -> Status {
      const Result<Marks> marks = board_.marks();
      if (!marks.ok()) return marks.status();
      waits = false;
      for (Member& member : configuration.members) {
        if (member.id == options_.node || member.state != MemberState::kServing || has(*marks, member.id)) continue;
        if (missing_marks_.is_over(member, *marks, board_.fence_lasts_us())) {
          member.state = MemberState::kDead;
        } else {
          waits = true;
        }
      }
      return {};
    });
    if (!looked.ok() || !waits) return looked;
    if (options_.give_up()) return Status(StatusCode::kUnavailable, "told to give up before it had joined");
    board_.wait(std::min(board_.pulse_us(), kGiveUpLook_us));
  }
}

/// This node's former life has no mark any more, and may commit until its fence has shut by the clock; unless others
/// have waited for that.
Status Joining::await_former_fence() {
  if (base::injected("death-before-fence")) return {};
  const auto ended =
      document_.await(board_.fence_lasts_us(), options_.give_up,
                      [this](const Configuration& found, const Marks&) { return !found.lives(options_.node); });
  return ended.status();
}

/// As whoever sees its mark missing would say; a mark that has come meanwhile is another process's, which lives.
Status Joining::end_former_life(bool marked) {
  return document_.amend([this, marked](Configuration& configuration) -> Status {
    const Result<Marks> marks = board_.marks();
    if (!marks.ok()) return marks.status();
    Member* const own = configuration.find(options_.node);
    if (own != nullptr && own->live() && (marked || !has(*marks, options_.node))) own->state = MemberState::kDead;
    return {};
  });
}

/// Whether this node may join; gives a cluster that begins its name and id.
Status Joining::admit(Configuration& configuration) const {
  if (configuration.version == 0) {
    if (options_.known_cluster_id != 0 && !options_.accepts_new_board) {
      return refuse(fmt::format(
          "{} has no configuration, but node {} belongs to cluster '{}' with the id {:016x}: it was wiped, or is "
          "another one; restore it. If it is lost for good, start all nodes with --new_board "
          "(ClusterOptions::new_board)",
          board_.name(), options_.node, options_.cluster, options_.known_cluster_id));
    }
    configuration.former_id = options_.known_cluster_id;
    configuration.cluster = options_.cluster;
    configuration.cluster_id = draw_cluster_id();
    configuration.fingerprint = options_.fingerprint;
    return {};
  }
  if (configuration.cluster != options_.cluster) {
    return refuse(fmt::format("{} is used by cluster '{}'; this node belongs to '{}': give each its own place",
                              board_.name(), configuration.cluster, options_.cluster));
  }
  if (const Status same = check_cluster(configuration); !same.ok()) return same;
  return compare(configuration);
}

/// Whether the configuration is that of the cluster to which this node's data belong, or a new one for the same nodes.
/// A node without data may have begun it, so it belongs to the first cluster whose data come, before any have served.
Status Joining::check_cluster(Configuration& configuration) const {
  const std::uint64_t known = options_.known_cluster_id;
  if (known == 0 || configuration.cluster_id == known) return {};
  const bool unused = configuration.former_id == 0 && std::ranges::none_of(configuration.members, &Member::has_data);
  if (options_.accepts_new_board && (unused || configuration.former_id == known)) {
    configuration.former_id = known;
    return {};
  }
  const std::string mend = configuration.former_id == known
                               ? ". Others of its nodes have begun it at a new board: --new_board does the same here"
                               : "";
  return refuse(fmt::format("{} has cluster '{}' with the id {:016x}, but node {} belongs to one with the id {:016x}{}",
                            board_.name(), configuration.cluster, configuration.cluster_id, options_.node, known,
                            mend));
}

Result<bool> Joining::rejoins(const Configuration& configuration) const {
  if (!options_.rejoins_us) return false;
  const Result<Marks> marks = board_.marks();
  if (!marks.ok()) return marks.status();
  return other_that_serves(configuration, *marks) != nullptr;
}

const Member* Joining::still_serves(const Configuration& configuration) const {
  const auto serves = [this](const Member& member) {
    return member.state == MemberState::kServing && member.id != options_.node;
  };
  const auto member = std::ranges::find_if(configuration.members, serves);
  return !options_.rejoins_us || member == configuration.members.end() ? nullptr : &*member;
}

/// Whether all nodes are there that have served with data: their logs may have writes of this node's records. A start
/// with Options::salvage forgets those that are not.
Status Joining::check_nodes(const Configuration& configuration) const {
  for (const Member& member : configuration.members) {
    if (!member.has_data || is_known(member) || !options_.finds_data) continue;
    return refuse(fmt::format(
        "node {} is not in the cluster file, but has served with data: its log may have what it wrote to records of "
        "other nodes. Put it into the file again. If its data are lost, or wanted no more, --salvage "
        "(Options::salvage) on every node starts the cluster without it, and without such writes",
        member.id));
  }
  return {};
}

bool Joining::is_known(const Member& member) const {
  return options_.nodes.empty() || std::ranges::find(options_.nodes, member.id) != options_.nodes.end();
}

/// Whether the node's data are there, and of its last life. A life notes itself in them before it is in the
/// configuration.
Status Joining::check_data(const Configuration& configuration) const {
  const Member* const own = configuration.find(options_.node);
  if (options_.accepts_older_data) return {};
  if (const Status known = check_nodes(configuration); !known.ok()) return known;
  if (own == nullptr) return {};
  if (own->has_data && !options_.data_place.empty() && !options_.finds_data) {
    const Result<bool> comes_back = rejoins(configuration);
    if (!comes_back.ok()) return comes_back.status();
    if (*comes_back && !base::injected("join-without-data")) return lost_data(fmt::format("'{}'", options_.data_place));
  }
  if (options_.data_generation == 0 || own->data_life <= options_.data_generation) return {};
  if (base::injected("join-with-older-data")) return {};
  return older_data(options_.node, options_.data_place, options_.data_generation, own->data_life, board_.name());
}

/// Nodes that owe something stay, as they have yet to be recovered.
void Joining::forget_nodes(Configuration& configuration) const {
  if (!options_.accepts_older_data) return;
  std::erase_if(configuration.members, [&](const Member& member) {
    return !is_known(member) && !member.live() && !configuration.owes(member.id);
  });
}

/// With members that run: the program first, since what another makes of the same cluster file may differ.
Status Joining::compare(Configuration& configuration) const {
  const Result<Marks> marks = board_.marks();
  if (!marks.ok()) return marks.status();
  for (const Member& member : configuration.members) {
    if (!member.live() || member.id == options_.node || !has(*marks, member.id)) continue;
    if (member.protocol != options_.protocol) {
      return refuse(fmt::format("node {} is {}, {}, which runs, is {}: run the same Granary on all nodes",
                                options_.node, release_of(options_.release, options_.protocol), who(member),
                                release_of(member.release, member.protocol)));
    }
    if (configuration.fingerprint != options_.fingerprint) {
      return refuse(
          fmt::format("the cluster file of node {} has the fingerprint {:016x}, that of {}, which runs, {:016x}: "
                      "start all nodes with the same file",
                      options_.node, options_.fingerprint, who(member), configuration.fingerprint));
    }
  }
  configuration.fingerprint = options_.fingerprint;
  return {};
}

}  // namespace

Result<std::unique_ptr<Membership>> Membership::join(std::unique_ptr<Board> board, MembershipOptions options,
                                                     Listener listener) {
  if (options.node >= kMostMembers || options.address.size() > kMostAddressBytes ||
      options.release.size() > kMostReleaseBytes) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("node {} with the address '{}' and the release '{}': ids are below {}, texts have at most "
                    "{} bytes",
                    options.node, options.address, options.release, kMostMembers, kMostAddressBytes));
  }
  auto patient = std::make_unique<PatientBoard>(std::move(board), options.unreachable_us, options.give_up);
  std::unique_ptr<Membership> membership(new Membership(std::move(patient), std::move(options), std::move(listener)));
  if (Status status = membership->enter(); !status.ok()) return status;
  return membership;
}

Status Membership::enter() {
  const PatientBoard::Patience patience(patient_);
  Joining joining(options_, document_);
  // A look first, so that nobody leaves a mark in a cluster that is not its own.
  const Status looked = document_.inspect([&](Configuration& found) {
    Status refused = joining.admit(found);
    return refused.ok() ? joining.check_data(found) : refused;
  });
  if (!looked.ok()) return looked;
  if (Status marked = joining.make_mark(); !marked.ok()) return marked;
  if (const auto* const verdict = board_.verdict(); verdict != nullptr) fence_.heed(*verdict);
  bool in_debt = false, misses_mark = false;
  const auto enter_now = [&](Configuration& configuration) -> Status {
    in_debt = misses_mark = false;  // each turn looks anew
    if (Status refused = joining.admit(configuration); !refused.ok()) return refused;
    joining.forget_nodes(configuration);
    Member& own = configuration.add(options_.node);
    if (generation_ != 0 && own.generation == generation_ && own.live())
      return {};  // an earlier turn, already overtaken
    if (Status refused = joining.check_data(configuration); !refused.ok()) return refused;
    const Result<bool> rejoins = joining.rejoins(configuration);
    if (!rejoins.ok()) return rejoins.status();
    // A member that serves and has lost its mark may have committed what this node would not load (I20). So this node
    // begins together with the others only when no other member serves by the configuration.
    const Member* const silent = *rejoins ? nullptr : joining.still_serves(configuration);
    misses_mark = silent != nullptr;
    if (misses_mark) return Status(StatusCode::kUnavailable, fmt::format("{} has lost its mark", who(*silent)));
    visits_ = *rejoins && options_.visits(configuration);
    // Somebody has died since this node has waited for that.
    in_debt = *rejoins && !configuration.owed.empty() && !(visits_ && joining.may_visit());
    if (in_debt) return Status(StatusCode::kUnavailable, debt_text(configuration.owed.front()));
    rejoined_ = *rejoins;
    own = {.id = options_.node,
           .generation = std::max(own.generation + 1, options_.lowest_generation),
           .state = MemberState::kJoining,
           .address = options_.address,
           .protocol = options_.protocol,
           .release = options_.release,
           .has_data = own.has_data,
           .data_life = own.data_life,
           .recovers = options_.recovers};
    generation_ = own.generation;
    if (options_.finds_data) own.data_life = generation_;
    cluster_id_ = configuration.cluster_id;
    return options_.note_life(generation_);
  };
  Status entered = document_.amend(enter_now);
  while (in_debt || misses_mark) {
    const Status over = misses_mark ? joining.await_deaths() : joining.await_debts(*options_.rejoins_us);
    if (!over.ok()) return over;
    if (options_.give_up()) return Status(StatusCode::kUnavailable, "told to give up before it had joined");
    in_debt = misses_mark = false;  // the next turn may end before it looks
    entered = document_.amend(enter_now);
  }
  if (!entered.ok()) return entered;
  return document_.amend([this](Configuration& configuration) { return follow(configuration); });
}

}  // namespace granary::membership
