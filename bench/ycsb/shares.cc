#include "bench/ycsb/shares.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/comma_list.h"

namespace granary::bench::ycsb {

namespace {

/// The names of operations in --shares.
constexpr std::array<std::string_view, kOperations> kWords{"read", "update", "put", "rmw", "insert", "scan"};

Status usage(std::string_view text, std::string_view why) {
  return {StatusCode::kInvalidArgument, fmt::format("--shares={}: {}", text, why)};
}

}  // namespace

std::string_view name(Operation operation) {
  const auto number = static_cast<std::size_t>(operation);
  return operation == Operation::kReadModifyWrite ? "read_modify_write" : kWords[number];
}

std::string to_text(const Shares& shares) {
  std::string text;
  for (std::size_t i = 0; i < kOperations; ++i) {
    if (shares.percent[i] == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", kWords[i], shares.percent[i]);
  }
  return text;
}

Result<Shares> parse_shares(std::string_view text) {
  const Result<std::vector<std::string>> words = comma_list("shares", text);
  if (!words.ok()) return words.status();
  Shares shares;
  std::array<bool, kOperations> named{};
  for (const std::string& word : *words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view operation = std::string_view(word).substr(0, equals);
    const auto* const found = std::ranges::find(kWords, operation);
    if (found == kWords.end())
      return usage(text, fmt::format("'{}': expected one of {}", operation, fmt::join(kWords, ", ")));
    const auto number = static_cast<std::size_t>(found - kWords.begin());
    if (std::exchange(named[number], true)) return usage(text, fmt::format("'{}' is named twice", operation));
    double& percent = shares.percent[number];
    const char* const from = word.data() + std::min(equals + 1, word.size());
    const char* const to = word.data() + word.size();
    const auto [end, error] = std::from_chars(from, to, percent, std::chars_format::fixed);
    if (error != std::errc() || end != to || !(percent >= 0 && percent <= 100))
      return usage(text, fmt::format("'{}': expected a percentage of 0 to 100, such as {}=50", word, operation));
  }
  const double sum = std::accumulate(shares.percent.begin(), shares.percent.end(), 0.0);
  if (std::abs(sum - 100) > 1e-6) return usage(text, fmt::format("the percentages add up to {}, expected 100", sum));
  return shares;
}

}  // namespace granary::bench::ycsb
