#include "recovery/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <random>

#include "recovery/manifest_text.h"
#include "recovery/segment_reader.h"

namespace granary::recovery {
namespace {

std::string path_in(const std::string& directory) { return directory + "/" + std::string(kManifestName); }

std::string absolute_from(const std::string& directory, const std::string& path) {
  if (path.starts_with('/')) return path;
  return path == "." ? directory : directory + "/" + path;
}

std::string relative_to(const std::string& directory, const std::string& path) {
  if (!is_inside(directory, path)) return path;
  return path == directory ? "." : path.substr(directory.size() + 1);
}

Status check_ids(const std::string& directory, const std::vector<TableEntry>& tables) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].id == i) continue;
    return {StatusCode::kFailedPrecondition,
            fmt::format("'{}' is not written: tables[{}].id is {}; expected {}, and no opening would accept another",
                        path_in(directory), i, tables[i].id, i)};
  }
  return {};
}

}  // namespace

Result<Manifest> read_manifest(base::FileSystem& files, const std::string& directory) {
  const std::string path = path_in(directory);
  auto text = base::read_file(files, path);
  if (!text.ok()) return text.status();
  auto manifest = parse_manifest(*text, path);
  if (!manifest.ok()) return manifest;
  for (std::string& each : manifest->log_directories) each = absolute_from(directory, each);
  if (!manifest->reliable_directory.empty())
    manifest->reliable_directory = absolute_from(directory, manifest->reliable_directory);
  return manifest;
}

Status write_manifest(base::FileSystem& files, const std::string& directory, const Manifest& manifest) {
  if (const Status good = check_ids(directory, manifest.tables); !good.ok()) return good;
  Manifest written = manifest;
  for (std::string& each : written.log_directories) each = relative_to(directory, each);
  written.reliable_directory = relative_to(directory, written.reliable_directory);
  return base::replace_file(files, path_in(directory), manifest_text(written));
}

Status secure_manifest(base::FileSystem& files, const std::string& directory) {
  const auto text = base::read_file(files, path_in(directory));
  if (!text.ok()) return text.status();
  const Status written = base::replace_file(files, path_in(directory), *text);
  return written.code() == StatusCode::kDiskFull ? files.sync_directory(directory) : written;
}

std::string checkpoint_name(epoch::Epoch epoch) { return fmt::format("{}{:012}", kCheckpointPrefix, epoch); }

bool is_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kCheckpointPrefix)) return false;
  const std::string_view number = name.substr(kCheckpointPrefix.size());
  epoch::Epoch epoch = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), epoch);
  return parsed.ec == std::errc() && name == checkpoint_name(epoch);
}

Status check_no_remains(base::FileSystem& files, const std::string& directory,
                        std::vector<std::string> log_directories) {
  log_directories.insert(log_directories.begin(), directory);
  for (const std::string& each : log_directories) {
    const auto names = files.list(each);
    if (!names.ok()) return names.status();
    const auto found = std::find_if(names->begin(), names->end(), [](const std::string& name) {
      return parse_segment_name(name) || name.starts_with(kCheckpointPrefix);
    });
    if (found == names->end()) continue;
    return {StatusCode::kDamaged,
            fmt::format("'{0}/{1}' is missing, but '{2}/{3}' is of a database; put the {1} back, or choose an empty "
                        "directory",
                        directory, kManifestName, each, *found)};
  }
  return {};
}

bool is_inside(const std::string& directory, const std::string& path) {
  return path == directory || path.starts_with(directory + "/");
}

epoch::Epoch greatest_epoch(const Manifest& manifest) {
  epoch::Epoch greatest = manifest.checkpoint ? manifest.checkpoint->epoch : 0;
  for (const Generation& generation : manifest.generations)
    greatest = std::max({greatest, generation.empty_before(), generation.cut.value_or(0)});
  return greatest;
}

std::uint32_t greatest_life(const Manifest& manifest) {
  std::uint32_t greatest = 0;
  for (const Generation& generation : manifest.generations) greatest = std::max(greatest, generation.life);
  return greatest;
}

log::DatabaseId new_id() {
  std::random_device random;
  log::DatabaseId id;
  for (unsigned char& byte : id) byte = static_cast<unsigned char>(random());
  return id;
}

Result<std::string> boot_id() {
  const std::string path = "/proc/sys/kernel/random/boot_id";
  const auto unknown = [&path](std::string_view why) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format(
            "cannot read the boot id '{}', without which it is not known whether log rings are of this "
            "boot: {}. The process needs a free file descriptor and /proc with all of it (mount it in a chroot; "
            "for a unit of systemd, ProcSubset=all)",
            path, why));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return unknown(std::strerror(errno));
  char text[64];
  const ssize_t got = ::read(descriptor, text, sizeof text);
  const int error = errno;
  ::close(descriptor);
  if (got < 0) return unknown(std::strerror(error));
  std::string id(text, static_cast<std::size_t>(got));
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  if (id.empty()) return unknown("it is empty");
  return id;
}

}  // namespace granary::recovery
