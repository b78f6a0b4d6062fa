#pragma once
// Whether log rings survive the end of a user's session: systemd-logind may remove what the user has in /dev/shm then.

#include <cstdint>
#include <string>

#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Whether systemd runs the machine whose files are below `root` ("" for this one), and removes what this user has in
/// /dev/shm once the user's last session ends: RemoveIPC of logind.conf(5). Users of the system are spared.
bool logout_removes_rings(const std::string& root, std::uint32_t user);

Finding check_logout(bool removes_rings);

}  // namespace granary::cluster_check
