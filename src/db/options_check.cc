#include "src/db/options_check.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <granary/limits.h>

#include "src/base/options_table.h"
#include "src/cc/protocols.h"
#include "src/db/memory_limit.h"
#include "src/db/table_options.h"

namespace granary::db {

namespace {

/// Refuses what the protocol cannot do, before anything is made for it.
Status check_protocol(const Options& options) {
  const auto number = cc::Protocols::number_of(options.protocol);
  if (!number) {
    return {StatusCode::kInvalidArgument, fmt::format("Options::protocol is '{}'; expected {}", options.protocol,
                                                      fmt::join(cc::Protocols::kNames, " or "))};
  }
  const auto refuse = [&](std::string_view why) {
    return Status(StatusCode::kInvalidArgument, fmt::format("Options::protocol is '{}', {}", options.protocol, why));
  };
  for (const auto& [name, chosen] :
       {std::pair("tictoc_no_wait", options.tictoc_no_wait), std::pair("tictoc_preempt", options.tictoc_preempt),
        std::pair("tictoc_history", options.tictoc_history)}) {
    if (chosen && options.protocol != cc::tictoc::TicToc::kName)
      return refuse(
          fmt::format("and Options::{} is on, which is an optimization of '{}'", name, cc::tictoc::TicToc::kName));
  }
  if (options.htm != Htm::kOff && !cc::abilities_of(*number).commits_in_region)
    return refuse("which does not commit in HTM regions: leave Options::htm off");
  if (options.htm == Htm::kOff && cc::abilities_of(*number).runs_in_region)
    return refuse("which runs transactions in HTM regions: Options::htm must be kAuto, kRtm or kSim");
  if (options.tid_source == TidSource::kGlobal && !cc::abilities_of(*number).in_real_time)
    return refuse("which computes its TIDs from what a transaction has read: Options::tid_source cannot be kGlobal");
  return {};
}

}  // namespace

Status check_options(const Options& options) {
  if (const Status checked = option::check("Options::", options); !checked.ok()) return checked;
  if (const Status checked = check_protocol(options); !checked.ok()) return checked;
  if (options.directory.empty() && (!options.log_directories.empty() || !options.reliable_directory.empty())) {
    return {StatusCode::kInvalidArgument,
            "Options::log_directories and reliable_directory need Options::directory, which is empty (memory only)"};
  }
  const std::uint64_t available = available_memory_bytes();
  for (const auto& [name, bytes] : {std::pair("memory_limit_bytes", options.memory_limit_bytes),
                                    std::pair("prefault_bytes", options.prefault_bytes)}) {
    if (bytes <= available) continue;
    return {StatusCode::kResourceExhausted,
            fmt::format("Options::{} is {}, but this process may use only {}", name, bytes, available)};
  }
  return {};
}

namespace {

/// Returns how messages name a table's options: by the table that has them.
std::string owner(std::string_view table) { return fmt::format("table '{}': ", table); }

Status check_shared(std::string_view table, const TableOptions& wanted, const Options& options) {
  const auto refuse = [&](std::string why) {
    return Status(StatusCode::kInvalidArgument, fmt::format("shared table '{}': {}", table, why));
  };
  if (wanted.max_value_bytes == 0 || wanted.max_value_bytes > kMaxSharedValueBytes)
    return refuse(
        fmt::format("max_value_bytes is {}; expected 1 to {}: every record gets room for so much and never moves",
                    wanted.max_value_bytes, kMaxSharedValueBytes));
  if (!reaches_shared_tables(options))
    return refuse(
        fmt::format("Options::protocol is '{}', which does not reach records of other nodes", options.protocol));
  if (options.simple_allocator)
    return refuse("Options::simple_allocator is on, but other nodes reach only what lies in the database's own region");
  if (!options.overwrite_in_place)
    return refuse("Options::overwrite_in_place is off, but a shared record keeps its place, which other nodes know");
  return {};
}

}  // namespace

std::vector<std::string> protocol_names() { return {cc::Protocols::kNames.begin(), cc::Protocols::kNames.end()}; }

namespace {

cc::Abilities abilities_of(const Options& options) {
  const auto number = cc::Protocols::number_of(options.protocol);
  return number ? cc::abilities_of(*number) : cc::Abilities();
}

}  // namespace

std::vector<std::string> shared_protocol_names() {
  std::vector<std::string> names = protocol_names();
  std::erase_if(names, [](const std::string& name) { return !reaches_shared_tables({.protocol = name}); });
  return names;
}
bool reaches_shared_tables(const Options& options) { return abilities_of(options).reaches_shared; }
bool runs_in_regions(const Options& options) { return abilities_of(options).runs_in_region; }
bool stamps_reads(const Options& options) { return abilities_of(options).stamps_reads; }
bool reads_parts(const Options& options) { return abilities_of(options).reads_parts; }

Status check_table(std::string_view table, const TableOptions& wanted, const Options& options) {
  if (const Status checked = option::check(owner(table), wanted); !checked.ok()) return checked;
  return wanted.shared ? check_shared(table, wanted, options) : Status();
}

Status check_expected_keys(std::string_view table, std::uint64_t keys) {
  return option::check(owner(table), option::row<&TableOptions::expected_keys>(), {.expected_keys = keys});
}

Status no_room_for_header(std::string_view table, std::uint64_t keys) {
  return {StatusCode::kResourceExhausted,
          fmt::format("table '{}': no memory for the hash index of {} keys; raise memory_limit_bytes or lower "
                      "expected_keys",
                      table, keys)};
}

}  // namespace granary::db
