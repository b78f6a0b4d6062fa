#pragma once
// Runs a benchmark through the command and reads the JSON that it has written.

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

namespace granary::cli {

/// Runs `granary` with these arguments, which must end well, and returns its JSON; a discarded value if that is none.
inline nlohmann::json json_of(const std::string& arguments) {
  const std::string path = scratch(".json");
  const Ran ran = granary(arguments + " --json=" + path);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string text = contents(path);
  std::remove(path.c_str());
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace granary::cli
