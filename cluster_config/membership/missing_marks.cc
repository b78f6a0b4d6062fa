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

}  // namespace granary::membership
