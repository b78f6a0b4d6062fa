#pragma once
// The cluster key: a secret by which nodes know that they belong together. It is in a file of its own on each host, that
// only its user may read.

#include <string>

#include <granary/status.h>

namespace granary::cluster_config {

/// Bytes of a key.
inline constexpr std::size_t kLeastKeyBytes = 32;
inline constexpr std::size_t kMostKeyBytes = 4096;

/// Makes a file with a new random key; kAlreadyExists if there is one.
Status make_key(const std::string& path);

/// The key in the file, without line ends after it. kFailedPrecondition if others may read it, kInvalidArgument if it is too
/// short to be one, with the mend.
Result<std::string> read_key(const std::string& path);

}  // namespace granary::cluster_config
