#pragma once
// The manifest as text: JSON, and behind it one line with the checksum of all before it.
//
//   { "format": 3, ... }
//   crc32c 0123abcd
//
// Names and paths are byte strings: whatever is no printable ASCII character, and '%' itself, stands as %XX.

#include <string>
#include <string_view>

#include "recovery/manifest.h"

namespace granary::recovery {

inline constexpr std::uint32_t kManifestVersion = 4;

std::string manifest_text(const Manifest& manifest);
/// kDamaged for anything that manifest_text() does not write; `path` is for the message. Safe on any bytes.
Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

}  // namespace granary::recovery
