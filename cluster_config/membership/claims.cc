// Lets one member at a time recover the debt of a dead life, and none before all members are quiet.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cluster_config/membership/member_text.h"
#include "cluster_config/membership/membership.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::membership {
namespace {

/// Returns the number of the membership about which all have to be quiet before another member may act on the debt. A
/// former claimer may still act until it has been cut off, like the dead node itself. A claimer that owes nothing any
/// more was cut off before it was recovered.
std::uint64_t quiet_number(const Configuration& configuration, const Owed& debt) {
  const Owed* const claimer = configuration.debt(debt.claimed_by, debt.claimed_generation);
  const bool waits = claimer != nullptr && !base::injected("claim-before-claimer-is-cut");
  return waits ? std::max(debt.number, claimer->number) : debt.number;
}

std::string not_all_quiet(NodeId node, Generation generation) {
  return fmt::format("not all members are quiet about {}", life_text(node, generation));
}

}  // namespace

Status Membership::claim(NodeId node, Generation generation) {
  return document_.amend([&](Configuration& configuration) -> Status {
    if (Status lost = check_own(configuration); !lost.ok()) return lost;
    Owed* const debt = configuration.debt(node, generation);
    if (debt == nullptr) return refuse(fmt::format("{} owes nothing any more", life_text(node, generation)));
    if (configuration.is_claimed(*debt)) {
      if (debt->claimed_by == options_.node) return {};
      return refuse(fmt::format("{} is recovered by {}", life_text(node, generation),
                                life_text(debt->claimed_by, debt->claimed_generation)));
    }
    // The next life of the node itself makes a visit for this, and a member that claims may have an older
    // configuration.
    if (node != options_.node && configuration.lives(node))
      return refuse(fmt::format("{} is left to the next life of its node", life_text(node, generation)));
    if (!configuration.quiet_since(quiet_number(configuration, *debt)) && !base::injected("claim-before-quiet"))
      return refuse(not_all_quiet(node, generation));
    debt->claimed_by = options_.node;
    debt->claimed_generation = generation_;
    if (debt->phase != RecoveryPhase::kGivenUp) debt->phase = RecoveryPhase::kWaiting;
    return {};
  });
}

/// Edits a debt that this member has claimed. While this member lives, only it ends its claim, unless a start of all
/// nodes together settles the debt itself. So if the claim is gone after an earlier turn, that turn has made the edit:
/// its answer was lost, and another member has made the next change.
Status Membership::change_claimed(NodeId node, Generation generation, FunctionRef<Status(Configuration&, Owed&)> edit) {
  bool edited = false;
  return document_.amend([&](Configuration& configuration) -> Status {
    if (Status lost = check_own(configuration); !lost.ok()) return lost;
    Owed* const debt = configuration.debt(node, generation);
    const bool has = debt != nullptr && debt->claimed_by == options_.node && debt->claimed_generation == generation_;
    if (!has && edited) return {};
    if (!has) return refuse(fmt::format("node {} has no claim on {}", options_.node, life_text(node, generation)));
    Status refused = edit(configuration, *debt);
    edited = refused.ok();
    return refused;
  });
}

Status Membership::note_phase(NodeId node, Generation generation, RecoveryPhase phase) {
  return change_claimed(node, generation, [phase](Configuration&, Owed& debt) -> Status {
    debt.phase = phase;
    return {};
  });
}

/// This member was quiet when it claimed. Another member may have begun to serve since then, and may not have said that
/// it is quiet yet.
Status Membership::note_recovered(NodeId node, Generation generation) {
  return change_claimed(
      node, generation, [this, node, generation](Configuration& configuration, Owed& recovered) -> Status {
        const Owed gone = recovered;
        const bool ignores_quiet = base::injected("claim-before-quiet");
        const Member& own = *configuration.find(options_.node);
        base::invariant("I27", ignores_quiet || own.state != MemberState::kServing || own.quiet.number >= gone.number);
        if (!ignores_quiet && !configuration.quiet_since(gone.number))
          return {StatusCode::kUnavailable, not_all_quiet(node, generation)};
        std::erase(configuration.owed, gone);
        return {};
      });
}

Status Membership::give_up_claim(NodeId node, Generation generation) {
  return change_claimed(node, generation, [this](Configuration&, Owed& debt) -> Status {
    debt.claimed_by = 0;
    debt.claimed_generation = 0;
    debt.phase = RecoveryPhase::kGivenUp;
    const NamedLife own{.node = options_.node, .generation = generation_};
    if (std::ranges::find(debt.declined, own) == debt.declined.end()) debt.declined.push_back(own);
    return {};
  });
}

}  // namespace granary::membership
