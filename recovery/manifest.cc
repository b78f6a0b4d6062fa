#include "recovery/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "recovery/manifest_text.h"

namespace granary::recovery {
namespace {

std::string path_in(const std::string& directory) { return directory + "/" + std::string(kManifestName); }

}  // namespace

Result<Manifest> read_manifest(base::FileSystem& files, const std::string& directory) {
  const std::string path = path_in(directory);
  auto text = base::read_file(files, path);
  if (!text.ok()) return text.status();
  return parse_manifest(*text, path);
}

Status write_manifest(base::FileSystem& files, const std::string& directory, const Manifest& manifest) {
  return base::replace_file(files, path_in(directory), manifest_text(manifest));
}

epoch::Epoch greatest_epoch(const Manifest& manifest) {
  epoch::Epoch greatest = manifest.checkpoint ? manifest.checkpoint->epoch : 0;
  for (const Generation& generation : manifest.generations)
    greatest = std::max({greatest, generation.first_epoch, generation.cut.value_or(0)});
  return greatest;
}

log::DatabaseId new_database_id() {
  std::random_device random;
  log::DatabaseId id;
  for (unsigned char& byte : id) byte = static_cast<unsigned char>(random());
  return id;
}

std::string boot_id() {
  const int descriptor = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  char text[64];
  const ssize_t got = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  std::string id(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  return id;
}

}  // namespace granary::recovery
