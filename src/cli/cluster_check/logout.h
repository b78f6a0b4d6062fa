#pragma once
// Finds out whether log rings survive the end of a user's session, when systemd-logind may remove the user's files in
// /dev/shm.

#include <cstdint>
#include <string>

#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Whether systemd runs the machine and removes this user's files in /dev/shm once the user's last session ends
/// (RemoveIPC in logind.conf(5)). System users keep theirs. The machine's files are below `root`, "" for this machine.
bool logout_removes_rings(const std::string& root, std::uint32_t user);

Finding check_logout(bool removes_rings);

}  // namespace granary::cluster_check
