#pragma once
// Writes and reads the manifest as text: JSON, followed by one line with the checksum of all before it.
//
//   { "format": 4, ... }
//   crc32c 0123abcd
//
// Names and paths are byte strings: '%', and whatever is no printable ASCII character, is written as %XX.

#include <string>
#include <string_view>

#include "recovery/manifest.h"

namespace granary::recovery {

inline constexpr std::uint32_t kManifestVersion = 4;

std::string manifest_text(const Manifest& manifest);
/// Reads a manifest. Returns kDamaged for any text that manifest_text() does not write; `path` is for the message. It
/// is safe on any bytes.
Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

}  // namespace granary::recovery
