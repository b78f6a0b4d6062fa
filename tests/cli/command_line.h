#pragma once
// Runs the built `granary` command as a user would.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/contents.h"

namespace granary::cli {

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

using tests::contents;

/// A file name of this process's own.
inline std::string scratch(const std::string& suffix) {
  return testing::TempDir() + "granary_cli_" + std::to_string(getpid()) + suffix;
}

/// `arguments` go through the shell; `prefix` is a command that runs it, such as timeout.
inline Ran granary(const std::string& arguments, const std::string& prefix = "") {
  const std::string out = scratch(".out"), err = scratch(".err");
  const int status = std::system((prefix + " " + GRANARY_COMMAND + " " + arguments + " >" + out + " 2>" + err).c_str());
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  std::remove(out.c_str());
  std::remove(err.c_str());
  return ran;
}

}  // namespace granary::cli
