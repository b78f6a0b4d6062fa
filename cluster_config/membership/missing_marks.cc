#include "cluster_config/membership/missing_marks.h"

#include "cluster_config/membership/member_text.h"
#include "src/base/test_hooks.h"

namespace granary::membership {

bool MissingMarks::is_over(const Member& member, const Marks& marks, std::uint64_t fence_lasts_us) {
  if (has(marks, member.id)) {
    missed_.erase(member.id);
    return false;
  }
  const std::uint64_t now = lifetime_us();
  Missed& missed = missed_.try_emplace(member.id, Missed{member.generation, now}).first->second;
  if (missed.generation != member.generation) missed = {member.generation, now};
  return now - missed.since_us >= fence_lasts_us || base::injected("death-before-fence");
}

const Member* MissingMarks::victim_of_silence(const Configuration& before, const Configuration& now,
                                              std::uint64_t fence_lasts_us) const {
  if (reopened_us_ == 0) return nullptr;
  for (const Member& member : now.members) {
    const Member* const former = before.find(member.id);
    const bool died = former != nullptr && former->live() && former->generation == member.generation &&
                      member.state == MemberState::kDead;
    if (!died) continue;
    const auto missed = missed_.find(member.id);
    const std::uint64_t since_us = missed == missed_.end() ? lifetime_us() : missed->second.since_us;
    if (since_us <= reopened_us_ + fence_lasts_us) return &member;
  }
  return nullptr;
}

}  // namespace granary::membership
