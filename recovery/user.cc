#include "recovery/user.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>

#include "recovery/manifest.h"
#include "src/base/directory.h"

namespace granary::recovery {
namespace {

constexpr std::string_view kProbePrefix = "owner-";

/// Returns the user's name; "" if the system knows none.
std::string name_of(std::uint32_t user) {
  std::array<char, 4096> buffer{};
  struct passwd entry {};
  struct passwd* found = nullptr;
  ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? "" : found->pw_name;
}

/// Returns the user who gets a file that a process of root makes in the directory. Network file systems often give it
/// to another user than root.
Result<std::uint32_t> user_of_new_file(base::FileSystem& files, const std::string& directory) {
  // The name is random, as a process that is killed leaves the file, and process numbers are few in containers.
  const std::string path = fmt::format("{}/{}{}", directory, kProbePrefix, to_text(new_id()));
  if (const auto made = files.create(path); !made.ok()) return made.status();
  const auto user = base::owner(files, path);
  const Status removed = files.remove(path);
  if (user.status().code() == StatusCode::kNotFound || removed.code() == StatusCode::kNotFound)
    return Status(StatusCode::kUnavailable, fmt::format("'{}' is being opened by another process", directory));
  if (!removed.ok()) return removed;
  return user;
}

}  // namespace

bool is_probe_name(std::string_view name) { return name.starts_with(kProbePrefix); }

Status check_user(base::FileSystem& files, const std::string& directory) {
  if (::geteuid() != 0) return {};
  const auto user = base::owner(files, fmt::format("{}/{}", directory, kManifestName));
  if (!user.ok()) return user.status().code() == StatusCode::kNotFound ? Status() : user.status();
  if (*user == 0) return {};
  const auto own = user_of_new_file(files, directory);
  if (!own.ok()) return own.status();
  if (*own == *user) return {};
  const std::string name = name_of(*user);
  const std::string as_user = name.empty() ? fmt::format("setpriv --reuid={0} --regid={0} --clear-groups", *user)
                                           : fmt::format("runuser -u {} --", name);
  return {StatusCode::kFailedPrecondition,
          fmt::format("'{}' is a database of user {}, and this process is root's, whose files that user could not open "
                      "any more; run the program as that user, as in: {} granary recover {}",
                      directory, name.empty() ? std::to_string(*user) : name, as_user, directory)};
}

}  // namespace granary::recovery
