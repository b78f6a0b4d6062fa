#include "src/node/log_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "recovery/manifest.h"
#include "recovery/segment_reader.h"
#include "recovery/settle.h"

namespace granary::db {

using cluster::messages::ListFiles;
using cluster::messages::ListFilesAnswer;
using cluster::messages::ReadFile;
using cluster::messages::ReadFileAnswer;

namespace {

/// How many names, or bytes of a file, a message holds at most.
constexpr std::size_t kMostNames = 1000;
constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 10;

Status refusal(std::string_view path) {
  return {StatusCode::kFailedPrecondition, fmt::format("'{}' is neither the manifest nor of the log", path)};
}

}  // namespace

std::string LogFiles::here(std::string_view directory) const {
  if (directory == ".") return directory_;
  return directory.starts_with("./") ? directory_ + std::string(directory.substr(1)) : std::string(directory);
}

Status LogFiles::check_log_directory(const std::string& directory) const {
  auto manifest = recovery::read_manifest(files_, directory_);
  if (!manifest.ok()) return manifest.status();
  const auto canonical = base::canonical(directory_);
  if (!canonical.ok()) return canonical.status();
  const auto settled = recovery::settle(files_, std::move(*manifest), *canonical, {});
  if (!settled.ok()) return settled.status();
  const auto& own = settled->manifest.log_directories;
  return std::ranges::find(own, directory) != own.end() ? Status() : refusal(directory);
}

Result<std::string> LogFiles::admit(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return refusal(path);
  const std::string_view directory = path.substr(0, slash);
  const std::string_view name = path.substr(slash + 1);
  const std::string admitted = fmt::format("{}/{}", here(directory), name);
  if (directory == "." && name == recovery::kManifestName) return admitted;
  if (!recovery::parse_segment_name(name)) return refusal(path);
  const Status checked = check_log_directory(here(directory));
  return checked.ok() ? Result<std::string>(admitted) : checked;
}

void LogFiles::answer(const ListFiles& request, ListFilesAnswer& answer) {
  const std::string directory = here(request.directory);
  if (const Status checked = check_log_directory(directory); !checked.ok()) {
    answer.error = checked.message();
    return;
  }
  const auto names = files_.list(directory);
  if (!names.ok()) {
    answer.error = names.status().message();
    return;
  }
  for (const std::string& name : *names) {
    if (name <= request.after || !recovery::parse_segment_name(name)) continue;
    answer.more = answer.names.size() == kMostNames;
    if (answer.more) return;
    answer.names.push_back(name);
  }
}

Status LogFiles::open(const std::string& path) {
  if (open_ != nullptr && path == open_path_) return {};
  auto file = files_.open(path);
  if (!file.ok()) return file.status();
  open_ = std::move(*file);
  open_path_ = path;
  return {};
}

void LogFiles::answer(const ReadFile& request, ReadFileAnswer& answer) {
  // The manifest is replaced now and then. A read from its start opens the newest one, and all bytes of one answer are
  // of the same manifest.
  if (request.offset == 0) open_.reset();
  const bool goes_on = open_ != nullptr && request.path == open_path_;
  const Result<std::string> path = goes_on ? Result<std::string>(open_path_) : admit(request.path);
  if (!path.ok()) {
    answer.error = path.status().message();
    return;
  }
  const Status opened = open(*path);
  const auto size = opened.ok() ? open_->size() : Result<std::uint64_t>(opened);
  if (!size.ok()) {
    answer.missing = size.status().code() == StatusCode::kNotFound;
    answer.error = size.status().message();
    return;
  }
  answer.file_bytes = *size;
  const std::uint64_t left = *size - std::min(request.offset, *size);
  answer.bytes.resize(std::min({std::uint64_t{request.bytes}, left, kMostBytes}));
  const auto got = open_->read_at(request.offset, answer.bytes);
  if (!got.ok()) {
    answer.error = got.status().message();
    return;
  }
  answer.bytes.resize(*got);
}

}  // namespace granary::db
