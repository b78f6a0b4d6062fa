#pragma once
// Parses the flags of one command from argv. Names and shapes are checked here, so that an unknown, missing, repeated
// or impossible flag ends in one clear line; gflags defines the flags and parses their values.

#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "bench/harness/flags.h"

namespace granary::cli {

/// Parses `--name=value`, `--name value`, `--switch` and `--noswitch`. Flags not given have their default. The message
/// of an error is what follows "granary: ". Words that are no flags go to `operands`, or are an error without it.
/// Dashes in a flag's name count as underscores. Once per process and flag name: gflags keeps one registry.
Result<bench::FlagValues> parse_flags(const std::string& command, const std::vector<bench::Flag>& flags,
                                      const std::vector<std::string>& arguments,
                                      std::vector<std::string>* operands = nullptr);

}  // namespace granary::cli
