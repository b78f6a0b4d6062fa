#include "recovery/checkpoint/format.h"

#include <fmt/format.h>

#include "src/base/crc32c.h"

namespace granary::recovery::checkpoint {

std::uint32_t FileHeader::compute_crc() const { return base::crc32c(0, this, offsetof(FileHeader, crc)); }

std::uint32_t block_crc(std::uint32_t file_crc, const BlockHeader& header, const char* body) {
  return base::crc32c(base::crc32c(file_crc, &header, offsetof(BlockHeader, crc)), body, header.bytes);
}

std::string partition_name(std::uint32_t partition) { return fmt::format("part-{:04}.gckpt", partition); }

bool is_partition_name(std::string_view name) {
  constexpr std::string_view kBefore = "part-";
  constexpr std::string_view kBehind = ".gckpt";
  if (!name.starts_with(kBefore) || !name.ends_with(kBehind) || name.size() < kBefore.size() + kBehind.size() + 4)
    return false;
  name.remove_prefix(kBefore.size());
  name.remove_suffix(kBehind.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

void Contents::add(const Contents& part) {
  blocks += part.blocks;
  records += part.records;
  file_bytes += part.file_bytes;
  older += part.older;
  missing_bytes += part.missing_bytes;
  for (const auto& [table, count] : part.tables) {
    tables[table].records += count.records;
    tables[table].bytes += count.bytes;
  }
}

}  // namespace granary::recovery::checkpoint
