#pragma once
// Secrets in files of their own, that only their user may read. The cluster key is the one by which nodes know that
// they belong together.

#include <string>

#include <granary/status.h>

namespace granary::cluster_config {

/// Bytes of a key.
inline constexpr std::size_t kLeastKeyBytes = 32;
inline constexpr std::size_t kMostKeyBytes = 4096;

/// Makes a file with a new random key; kAlreadyExists if there is one. After any other error there is no file.
Status make_key(const std::string& path);

/// The key in the file, without line ends after it. kFailedPrecondition if others may read it, kInvalidArgument if it
/// is too short to be one, with the mend.
Result<std::string> read_key(const std::string& path);
/// The same of another secret of 1 byte or more; `what` it is, for messages.
Result<std::string> read_secret(const std::string& path, const std::string& what);

}  // namespace granary::cluster_config
