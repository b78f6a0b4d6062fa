// Manifests: whatever the text, it is refused with a message or understood, and what is understood is written back and
// understood the same. Bit 0 of the first byte: the checksum is put right first.

#include <fmt/format.h>

#include <string>

#include "recovery/manifest_text.h"
#include "src/base/check.h"
#include "src/base/crc32c.h"
#include "tests/fuzz/target.h"

namespace granary {
namespace {

void mend_checksum(std::string& text) {
  const std::size_t end = text.rfind("crc32c ");
  if (end == std::string::npos) return;
  text.resize(end);
  text += fmt::format("crc32c {:08x}\n", base::crc32c(0, text.data(), text.size()));
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::string text(input.substr(1));
  if ((input[0] & 1) != 0) mend_checksum(text);
  const auto manifest = recovery::parse_manifest(text, "MANIFEST");
  if (!manifest.ok()) {
    base::always_check(!manifest.status().message().empty(), "a refusal says why");
    return false;
  }
  const std::string again = recovery::manifest_text(*manifest);
  const auto reread = recovery::parse_manifest(again, "MANIFEST");
  base::always_check(reread.ok() && recovery::manifest_text(*reread) == again, "what is understood can be written");
  return true;
}

}  // namespace granary
