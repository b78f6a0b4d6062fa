#pragma once
// Runs the built `granary` command and sends it a signal at a moment that a condition tells, not the clock: a busy
// machine may start the command late.

#include <signal.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "tests/cli/command_line.h"

namespace granary::cli {

/// Whether the process has a handler for the signal.
inline bool handles(pid_t process, int signal) {
  constexpr int kHexadecimal = 16;
  const std::string key = "SigCgt:";
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return (std::stoull(line.substr(key.size()), nullptr, kHexadecimal) >> (signal - 1)) & 1;
  }
  return false;
}

/// The command that runs, and what it has written to standard error so far.
struct Running {
  pid_t process;
  std::string err;
};

/// Starts the command, whose `arguments` go through the shell, waits until `now` holds, a minute at most, and sends it
/// the signal, `times` times. The exit code is 128 plus the signal's number if the signal has ended the process.
inline Ran granary_signalled(const std::string& arguments, int signal, const std::function<bool(const Running&)>& now,
                             int times = 1) {
  constexpr int kOfSignals = 128;
  const std::string out = scratch(".out"), err = scratch(".err");
  const std::string command = "exec " GRANARY_COMMAND " " + arguments + " >" + out + " 2>" + err;
  const pid_t process = ::fork();
  if (process == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(kOfSignals - 1);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!now({process, contents(err)})) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << arguments << ": the moment of the signal has not come\n" << contents(err);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (int i = 0; i < times; ++i) ::kill(process, signal);
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : kOfSignals + WTERMSIG(status), contents(out), contents(err)};
  std::remove(out.c_str());
  std::remove(err.c_str());
  return ran;
}

}  // namespace granary::cli
