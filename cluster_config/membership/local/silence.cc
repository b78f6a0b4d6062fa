#include "cluster_config/membership/local/silence.h"

#include "src/base/test_hooks.h"

namespace granary::membership {

std::uint64_t Silence::of(NodeId id, std::uint64_t word, std::uint64_t timeout_us, std::uint64_t now_us) {
  const auto [found, first] = seen_.try_emplace(id, Seen{word, now_us, now_us});
  Seen& seen = found->second;
  const bool stood_still = now_us - seen.looked_us > timeout_us / 2 && !base::injected("count-own-standstill");
  if (seen.word != word || stood_still) seen = {word, now_us, now_us};
  seen.looked_us = now_us;
  return now_us - seen.since_us;
}

}  // namespace granary::membership
