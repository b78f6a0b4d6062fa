#pragma once
// Reads flags whose value is a list: --variant=a,b.

#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

namespace granary::bench {

/// Returns the words between the commas of --`flag`=`text`; none if the text is empty. kInvalidArgument if a word is
/// empty or occurs twice.
Result<std::vector<std::string>> comma_list(std::string_view flag, std::string_view text);

}  // namespace granary::bench
