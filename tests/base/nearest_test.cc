// "Did you mean": which mistyped words have a known one that is near enough.

#include "src/base/nearest.h"

#include <gtest/gtest.h>

namespace granary::base {
namespace {

TEST(Nearest, FindsWhatWasMistyped) {
  const std::vector<std::string> known = {"bench", "log", "recover", "run", "stat", "tpcc", "checkpoint_interval"};
  for (const auto& [word, meant] :
       {std::pair("bnech", "bench"), std::pair("recovre", "recover"), std::pair("rum", "run"), std::pair("sat", "stat"),
        std::pair("tcpp", "tpcc"), std::pair("logs", "log"), std::pair("check", "checkpoint_interval"),
        std::pair("chekpont_intervl", "checkpoint_interval")})
    EXPECT_EQ(nearest(word, known), meant) << word;
}

/// Half of a short word, or its first letter and another one, makes another word.
TEST(Nearest, DoesNotGuessTooFar) {
  const std::vector<std::string> known = {"bench", "backup", "log", "recover", "run", "top", "node", "kv"};
  for (const std::string word : {"foo", "fox", "lap", "rack", "tree", "code1", "remote", "xy", "ls"})
    EXPECT_EQ(nearest(word, known), "") << word;
}

}  // namespace
}  // namespace granary::base
