#include "bench/soak/verdict.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/harness/progress.h"

namespace granary::bench::soak {

namespace {

template <typename T>
T median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The samples of a third of the measurement.
struct Third {
  std::vector<std::uint64_t> bytes;
  std::vector<double> rates;  ///< requests a second
  double peak = 0;            ///< the greatest of the rates
};

std::array<Third, 3> thirds_of(const std::vector<Sample>& samples,
                               const std::function<std::uint64_t(const Sample&)>& bytes_of) {
  std::array<Third, 3> thirds;
  const double end = samples.empty() ? 0 : samples.back().seconds;
  double before = 0;
  for (const Sample& sample : samples) {
    if (sample.seconds <= 0) continue;
    Third& third = thirds[sample.seconds > 2 * end / 3 ? 2 : sample.seconds > end / 3 ? 1 : 0];
    third.bytes.push_back(bytes_of(sample));
    third.rates.push_back(static_cast<double>(sample.requests) / (sample.seconds - before));
    third.peak = std::max(third.peak, third.rates.back());
    before = sample.seconds;
  }
  return thirds;
}

}  // namespace

Finding judge_level(const std::string& what, const std::vector<Sample>& samples,
                    const std::function<std::uint64_t(const Sample&)>& bytes_of, double bytes_kept) {
  const auto [first, second, third] = thirds_of(samples, bytes_of);
  Finding finding{.condition = what + " stays level after the first third", .holds = false, .detail = {}};
  if (std::min(second.bytes.size(), third.bytes.size()) < kFewestSamples) {
    finding.detail = fmt::format(
        "only {} samples of the second and {} of the last third; at least {} of each are needed to judge: "
        "run it for longer",
        second.bytes.size(), third.bytes.size(), kFewestSamples);
    return finding;
  }
  const std::uint64_t middle = median(second.bytes);
  const std::uint64_t last = median(third.bytes);
  // Memory in use follows the rate of requests. Memory that was taken from the system follows the greatest rate so far,
  // as it is not given back.
  const double faster =
      std::max({0.0, median(third.rates) - median(second.rates), third.peak - std::max(first.peak, second.peak)});
  const auto allowed =
      static_cast<std::uint64_t>(static_cast<double>(middle) * (1 + kLevelShare) + faster * bytes_kept) + kLevelBytes;
  finding.holds = last <= allowed;
  finding.detail = fmt::format("median of the middle third {}, of the last {} (allowed {})", human_bytes(middle),
                               human_bytes(last), human_bytes(allowed));
  return finding;
}

}  // namespace granary::bench::soak
