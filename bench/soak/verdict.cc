#include "bench/soak/verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/progress.h"

namespace granary::bench::soak {

namespace {

std::uint64_t median(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Finding judge_level(const std::string& what, const std::vector<Sample>& samples,
                    const std::function<std::uint64_t(const Sample&)>& bytes_of) {
  std::vector<std::uint64_t> course;
  for (const Sample& sample : samples) {
    if (sample.seconds > 0) course.push_back(bytes_of(sample));
  }
  Finding finding{.condition = what + " stays level after the first third", .holds = false, .detail = {}};
  if (course.size() < kFewestSamples) {
    finding.detail = fmt::format("only {} samples; at least {} are needed to judge", course.size(), kFewestSamples);
    return finding;
  }
  const auto third = static_cast<std::ptrdiff_t>(course.size() / 3);
  const std::uint64_t middle = median({course.begin() + third, course.begin() + 2 * third});
  const std::uint64_t last = median({course.begin() + 2 * third, course.end()});
  const auto allowed = static_cast<std::uint64_t>(static_cast<double>(middle) * (1 + kLevelShare)) + kLevelBytes;
  finding.holds = last <= allowed;
  finding.detail = fmt::format("median of the middle third {}, of the last {} (allowed {})", human_bytes(middle),
                               human_bytes(last), human_bytes(allowed));
  return finding;
}

}  // namespace granary::bench::soak
