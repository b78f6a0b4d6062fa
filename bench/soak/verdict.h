#pragma once
// Judges whether memory stays level. In the first third of a run the data may grow into shape, then the last third must
// look like the middle one. Medians are compared, because the memory of old versions rises and falls in saw-teeth,
// whose height depends on the throughput. A leak grows with time and the tolerance does not: the longer the run, the
// smaller the leak that it shows.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/workload.h"

namespace granary::bench::soak {

/// Growth from one third to the next that counts as noise: 5 %, and a little for caches that fill slowly.
inline constexpr double kLevelShare = 0.05;
inline constexpr std::uint64_t kLevelBytes = 4u << 20;
/// A run can be judged if it takes at least this long, and if the second and the last third each have this many
/// samples. On a busy machine some samples come late and others are left out, so the thirds are thirds of the time, not
/// of the samples.
inline constexpr double kFewestSeconds = 9;
inline constexpr std::size_t kFewestSamples = 2;

/// Judges how one number of bytes develops over the measured samples (those of the warm-up are ignored). `bytes_kept`
/// is by how much a steady number of bytes is greater for each request a second more, since garbage of a request is
/// freed only after a while. It keeps a machine that has become less busy, and so faster, from looking like a leak.
Finding judge_level(const std::string& what, const std::vector<Sample>& samples,
                    const std::function<std::uint64_t(const Sample&)>& bytes_of, double bytes_kept = 0);

}  // namespace granary::bench::soak
