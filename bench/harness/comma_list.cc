#include "bench/harness/comma_list.h"

#include <algorithm>

#include <fmt/format.h>

namespace granary::bench {

Result<std::vector<std::string>> comma_list(std::string_view flag, std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; !text.empty() && from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    std::string word(text.substr(from, to - from));
    if (word.empty())
      return Status(StatusCode::kInvalidArgument, fmt::format("--{}={}: a name is missing beside a comma", flag, text));
    if (std::find(words.begin(), words.end(), word) != words.end())
      return Status(StatusCode::kInvalidArgument, fmt::format("--{}={}: '{}' is named twice", flag, text, word));
    words.push_back(std::move(word));
    from = to + 1;
  }
  return words;
}

}  // namespace granary::bench
