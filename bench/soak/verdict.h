#pragma once
// Whether memory stays level: the first third of a run is for growing into shape, then the last third must look like
// the middle one. Medians are compared, because old versions come and go in saw-teeth as high as the throughput is. A
// leak grows with time and the tolerance does not: the longer the run, the smaller the leak that it shows.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/workload.h"

namespace granary::bench::soak {

/// Growth from one third to the next that is taken for noise: 5 %, and a little for caches that fill slowly.
inline constexpr double kLevelShare = 0.05;
inline constexpr std::uint64_t kLevelBytes = 4u << 20;
/// A run that can be judged is as long, and has so many samples of the second and of the last third each. On a busy
/// machine some samples come late, and others are left out, so the thirds are those of the time.
inline constexpr double kFewestSeconds = 9;
inline constexpr std::size_t kFewestSamples = 2;

/// Judges one course of bytes over the measured samples (those of the warm-up are ignored). `bytes_kept`: what a steady
/// course is greater by for each request a second more, since what a request leaves waits for a while. So a machine
/// that has become less busy shows no leak.
Finding judge_level(const std::string& what, const std::vector<Sample>& samples,
                    const std::function<std::uint64_t(const Sample&)>& bytes_of, double bytes_kept = 0);

}  // namespace granary::bench::soak
