#include "src/log/segment_space.h"

#include <fmt/format.h>

namespace granary::log {
namespace {

constexpr std::string_view kSparePrefix = "spare-l";

}  // namespace

std::string spare_name(std::uint32_t logger, std::uint64_t number) {
  return fmt::format("{}{:02}-{:08}.glog", kSparePrefix, logger, number);
}

bool is_spare_name(std::string_view name) { return name.starts_with(kSparePrefix) && name.ends_with(".glog"); }

Status SegmentSpace::replenish() {
  const std::lock_guard replenishing(replenishing_);
  for (;; ++next_) {
    {
      const std::lock_guard lock(mutex_);
      if (spares_.size() >= options_.spares) return {};
    }
    const std::string path = options_.directory + "/" + spare_name(options_.logger, next_);
    if (const Status reserved = options_.files->reserve(path, options_.segment_bytes); !reserved.ok()) return reserved;
    const std::lock_guard lock(mutex_);
    spares_.push_back(path);
  }
}

std::string SegmentSpace::take_spare() {
  const std::lock_guard lock(mutex_);
  if (spares_.empty()) return {};
  std::string spare = std::move(spares_.back());
  spares_.pop_back();
  return spare;
}

Result<std::unique_ptr<base::File>> SegmentSpace::take(const std::string& path) {
  for (std::string spare = take_spare(); !spare.empty(); spare = take_spare()) {
    auto file = options_.files->open_reserved(spare, path);
    if (file.status().code() == StatusCode::kNotFound) continue;  // somebody has removed it
    if (file.status().code() == StatusCode::kUnavailable) {
      const std::lock_guard lock(mutex_);
      spares_.push_back(std::move(spare));
    }
    return file;
  }
  return options_.files->create_direct(path);
}

}  // namespace granary::log
