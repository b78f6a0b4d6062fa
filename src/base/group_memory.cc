#include "src/base/group_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

namespace granary::base {
namespace {

/// Names the files of a version of control groups.
struct Version {
  const char* mount;
  const char* limit;
  const char* used;
};
constexpr Version kSecond{"/sys/fs/cgroup", "memory.max", "memory.current"};
constexpr Version kFirst{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"};

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;  // "max" is no number, and no limit
}

void narrow(GroupMemory& memory, const Version& version, const std::string& folder) {
  const auto limit = number_in(folder + "/" + version.limit);
  if (!limit || *limit == 0) return;
  memory.limit_bytes = std::min(memory.limit_bytes, *limit);
  const std::uint64_t used = number_in(folder + "/" + version.used).value_or(0);
  memory.left_bytes = std::min(memory.left_bytes, *limit > used ? *limit - used : 0);
}

/// Looks at the group and all groups around it, up to the mount's root.
void narrow_by_all(GroupMemory& memory, const Version& version, const std::string& root, std::string_view group) {
  while (!group.empty() && group != "/") {
    narrow(memory, version, root + version.mount + std::string(group));
    group = group.substr(0, group.rfind('/'));
  }
  narrow(memory, version, root + version.mount);
}

/// Returns the process's group, as a line of /proc/self/cgroup tells it behind `kind`: 0::/path, or 5:memory:/path. A
/// process that sees its group as the root, or no such line, gets "/".
std::string group_of(const std::string& root, std::string_view kind) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t number = line.find(':'), path = line.find(":/");
    if (number == std::string::npos || path == std::string::npos) continue;
    const std::string_view kinds =
        number == path ? std::string_view() : std::string_view(line).substr(number + 1, path - number - 1);
    if (kinds == kind) return line.substr(path + 1);
  }
  return "/";
}

}  // namespace

GroupMemory group_memory(const std::string& root) {
  GroupMemory memory;
  narrow_by_all(memory, kSecond, root, group_of(root, ""));
  narrow_by_all(memory, kFirst, root, group_of(root, "memory"));
  return memory;
}

}  // namespace granary::base
