#include "src/base/nearest.h"

#include <algorithm>

namespace granary::base {

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> cost(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[one.size()][other.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestWord = 64;  // the distance takes time and memory of the product of both lengths
  constexpr std::size_t kShortWord = 3;
  if (word.size() < 2 || word.size() > kLongestWord) return "";
  std::string best;
  std::size_t best_distance = (word.size() <= kShortWord ? 1 : std::max<std::size_t>(2, word.size() / 3)) + 1;
  for (const std::string& candidate : known) {
    std::size_t distance = edit_distance(word, candidate);
    if (word.size() >= kShortWord && candidate.starts_with(word)) distance = 1;  // the word was cut short
    // People seldom mistype the first letter, so a word with several mistakes and another first letter is another word.
    if (distance > 1 && !candidate.empty() && candidate.front() != word.front()) continue;
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace granary::base
