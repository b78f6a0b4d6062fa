#pragma once
// Keeps secrets in files that only their user may read. By the cluster key, nodes know that they belong together.

#include <string>

#include <granary/status.h>

namespace granary::cluster_config {

/// The least number of bytes of a key.
inline constexpr std::size_t kLeastKeyBytes = 32;
inline constexpr std::size_t kMostKeyBytes = 4096;

/// Makes a file with a new random key. Returns kAlreadyExists if there is such a file. After any other error there is
/// no file.
Status make_key(const std::string& path);

/// Returns the key in the file, without line ends after it. Returns kFailedPrecondition if others may read the file,
/// kInvalidArgument if the key is too short, with the mend.
Result<std::string> read_key(const std::string& path);
/// Returns another secret like a key, of at least 1 byte. `what` names it in messages.
Result<std::string> read_secret(const std::string& path, const std::string& what);

}  // namespace granary::cluster_config
