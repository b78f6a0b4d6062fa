#include "cluster_config/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/base/descriptor.h"
#include "src/base/file.h"

namespace granary::cluster_config {
namespace {

Status check_private(const std::string& path, const std::string& what, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return base::file_error("look at", path, errno);
  if (!S_ISREG(status.st_mode)) return Status(StatusCode::kInvalidArgument, fmt::format("'{}' is no file", path));
  if ((status.st_mode & 077) != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("others may use the {} '{}' (mode {:04o}); run: chmod 600 {}", what, path,
                              status.st_mode & 07777, path));
  }
  if (status.st_uid != ::geteuid()) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("the {} '{}' belongs to user {}, not to user {} who runs the node; run: chown {} {}",
                              what, path, status.st_uid, ::geteuid(), ::geteuid(), path));
  }
  return {};
}

/// Writes the text to a new file, and returns once it is on the device.
Status write_durably(const std::string& path, const std::string& text, int fd) {
  errno = ENOSPC;  // a write that ends early sets no error: the disk had room for a part of the text
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fsync(fd) != 0) {
    return base::file_error("write", path, errno);
  }
  return {};
}

}  // namespace

Status make_key(const std::string& path) {
  std::array<unsigned char, kLeastKeyBytes> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return base::file_error("get random bytes for", path, errno);
  }
  std::string text;
  for (const unsigned char byte : random) text += fmt::format("{:02x}", byte);
  text += '\n';
  const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.open()) return base::file_error("make", path, errno);
  Status written = write_durably(path, text, file.get());
  // A file without a whole key is removed, since a file that exists is left alone, and the next try would be refused.
  if (!written.ok()) ::unlink(path.c_str());
  return written;
}

Result<std::string> read_secret(const std::string& path, const std::string& what) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return base::file_error("open", path, errno);
  if (Status status = check_private(path, what, file.get()); !status.ok()) return status;
  std::string secret(kMostKeyBytes + 1, '\0');
  const ssize_t bytes = ::read(file.get(), secret.data(), secret.size());
  if (bytes < 0) return base::file_error("read", path, errno);
  secret.resize(static_cast<std::size_t>(bytes));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (!secret.empty()) return secret;
  return Status(StatusCode::kInvalidArgument, fmt::format("there is no {} in '{}'", what, path));
}

Result<std::string> read_key(const std::string& path) {
  Result<std::string> key = read_secret(path, "cluster key");
  if (!key.ok() || (key->size() >= kLeastKeyBytes && key->size() <= kMostKeyBytes)) return key;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("the cluster key '{}' has {} bytes; expected {} to {}, as 'granary cluster key FILE' makes",
                            path, key->size(), kLeastKeyBytes, kMostKeyBytes));
}

}  // namespace granary::cluster_config
