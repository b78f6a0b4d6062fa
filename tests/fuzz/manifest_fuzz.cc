// Manifests: whatever the text, it is refused with a message or understood, and what is understood is written back and
// understood the same. The first byte chooses whether the checksum is put right first.

#include <fmt/format.h>

#include "recovery/manifest_text.h"
#include "src/base/check.h"
#include "src/base/crc32c.h"
#include "tests/fuzz/target.h"

namespace granary {

std::vector<std::string> fuzz::seeds() {
  recovery::Manifest manifest;
  manifest.log_directories = {"data", "other %"};
  manifest.reliable_directory = "rings";
  manifest.boot = "boot";
  manifest.generations = {{.number = 1, .loggers = 2, .first_epoch = 1, .cut = 40, .durable = 40},
                          {.number = 2, .loggers = 1, .first_epoch = 91, .cut = {}}};
  manifest.tables = {
      {.id = 0, .name = "accounts", .max_value_bytes = 100, .base = {}, .index = {}},
      {.id = 1,
       .name = "by name",
       .max_value_bytes = 100,
       .base = 0,
       .index = {.parts = {{.offset = 4, .length = 8, .encoding = IndexEncoding::kText}}, .unique = true}}};
  manifest.checkpoint = recovery::CheckpointEntry{.epoch = 25, .directory = "checkpoint-25"};
  const std::string text = recovery::manifest_text(manifest);
  return {std::string(1, '\0') + text, std::string(1, '\1') + text,
          std::string(1, '\1') + recovery::manifest_text(recovery::Manifest{})};
}

}  // namespace granary

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace granary;
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t end = text.rfind("crc32c ");
  if ((data[0] & 1) != 0 && end != std::string::npos) {
    text.resize(end);
    text += fmt::format("crc32c {:08x}\n", base::crc32c(0, text.data(), text.size()));
  }
  const auto manifest = recovery::parse_manifest(text, "MANIFEST");
  if (!manifest.ok()) {
    base::always_check(!manifest.status().message().empty(), "a refusal says why");
    return 0;
  }
  const std::string again = recovery::manifest_text(*manifest);
  const auto reread = recovery::parse_manifest(again, "MANIFEST");
  base::always_check(reread.ok() && recovery::manifest_text(*reread) == again, "what is understood can be written");
  return 0;
}
