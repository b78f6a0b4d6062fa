#include "bench/harness/fresh_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace granary::bench {

namespace {

/// The flags of benchmarks for options, by the names of the options in the library's messages. Longer names come first.
constexpr std::pair<std::string_view, std::string_view> kFlagsOfOptions[] = {
    {"Options::htm must be kAuto, kRtm or kSim", "--htm must be auto, rtm or sim"},
    {"Options::htm is kAuto", "--htm is auto"},
    {"Options::htm is kRtm", "--htm is rtm"},
    {"Options::htm is kSim", "--htm is sim"},
    {"Options::htm", "--htm"},
    {"Options::tid_source cannot be kGlobal", "--variant=global-tid cannot be"},
    {"Options::protocol", "--protocol"},
    {"Options::loggers", "--loggers"},
    {"Options::memory_limit_bytes", "--memory_limit"},
    {"Options::prefault_bytes", "--prefault"},
    {"Options::log_reserve_bytes", "--log_reserve"},
    {"log_reserve_bytes", "--log_reserve"},
    {"with log_directories", "with --log_dirs"}};

/// The keys of a cluster's file for the options of a node, by the names of the options in messages.
constexpr std::pair<std::string_view, std::string_view> kKeysOfOptions[] = {
    {"ClusterOptions::start_timeout_ms", "--start_timeout"},
    {"Options::memory_limit_bytes", "'memory' of the cluster's file"},
    {"Options::log_directories", "'log_directories' of the cluster's file"},
    {"Options::directory", "'data_directory' of the cluster's file"},
    {"Options::epoch_ms", "'epoch_ms' of the cluster's file"},
    {"Options::snapshot_epochs", "'snapshot_epochs' of the cluster's file"},
    {"Options::release", "'release' of the cluster's file"}};

Status in_words(const Status& status, std::span<const std::pair<std::string_view, std::string_view>> words) {
  std::string text(status.message());
  for (const auto& [option, word] : words) {
    for (std::size_t at = 0; (at = text.find(option, at)) != std::string::npos; at += word.size())
      text.replace(at, option.size(), word);
  }
  return {status.code(), std::move(text)};
}

}  // namespace

Status in_flags(const Status& status) { return in_words(status, kFlagsOfOptions); }
Status in_flags_of_node(const Status& status) { return in_flags(in_words(status, kKeysOfOptions)); }

Result<std::unique_ptr<Database>> open_fresh(const Options& options) {
  std::error_code ignored;  // opening reports files that cannot be removed
  if (!options.directory.empty()) std::filesystem::remove_all(options.directory, ignored);
  for (const std::string& directory : options.log_directories) std::filesystem::remove_all(directory, ignored);
  if (!options.reliable_directory.empty()) std::filesystem::remove_all(options.reliable_directory, ignored);
  auto database = Database::open(options);
  if (!database.ok()) return in_flags(database.status());
  return database;
}

Result<std::unique_ptr<ScratchDirectory>> ScratchDirectory::make(const std::string& parent, WhenKilled when_killed) {
  const std::string path = fmt::format("{}/granary-bench-{}", parent, ::getpid());
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (error)
    return Status(StatusCode::kUnavailable, fmt::format("cannot make the directory '{}': {}", path, error.message()));
  return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(path, when_killed));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::uint64_t free_bytes(const std::string& path) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  return error ? 0 : space.available;
}

}  // namespace granary::bench
