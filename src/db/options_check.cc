#include "src/db/options_check.h"

#include <fmt/format.h>

#include <granary/limits.h>

#include "src/db/memory_limit.h"

namespace granary::db {
namespace {

Status out_of_range(const char* field, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return {StatusCode::kInvalidArgument, fmt::format("Options::{} is {}; expected {} to {}", field, value, low, high)};
}

Status check_durability(const Options& options) {
  constexpr std::uint64_t kKiB = 1024, kGiB = kKiB * kKiB * kKiB;
  if (options.loggers < 1 || options.loggers > kMaxLoggers)
    return out_of_range("loggers", options.loggers, 1, kMaxLoggers);
  if (options.ring_bytes < 64 * kKiB || options.ring_bytes > kGiB)
    return out_of_range("ring_bytes", options.ring_bytes, 64 * kKiB, kGiB);
  if (options.log_segment_bytes < 64 * kKiB || options.log_segment_bytes > 16 * kGiB)
    return out_of_range("log_segment_bytes", options.log_segment_bytes, 64 * kKiB, 16 * kGiB);
  if (options.log_reserve_bytes > 16 * 1024 * kGiB)
    return out_of_range("log_reserve_bytes", options.log_reserve_bytes, 0, 16 * 1024 * kGiB);
  const bool on_disk = !options.directory.empty();
  if (!on_disk && (!options.log_directories.empty() || !options.reliable_directory.empty())) {
    return {StatusCode::kInvalidArgument,
            "Options::log_directories and reliable_directory need Options::directory, which is empty (memory only)"};
  }
  return {};
}

}  // namespace

Status check_options(const Options& options) {
  constexpr std::uint32_t kMaxPeriod = 10000;
  constexpr std::uint64_t kLeastMemory = std::uint64_t{8} << 20;
  if (options.epoch_ms < 1 || options.epoch_ms > kMaxPeriod)
    return out_of_range("epoch_ms", options.epoch_ms, 1, kMaxPeriod);
  if (options.snapshot_epochs < 1 || options.snapshot_epochs > kMaxPeriod) {
    return out_of_range("snapshot_epochs", options.snapshot_epochs, 1, kMaxPeriod);
  }
  if (options.max_workers < 1 || options.max_workers > kMaxWorkers) {
    return out_of_range("max_workers", options.max_workers, 1, kMaxWorkers);
  }
  if (const Status checked = check_durability(options); !checked.ok()) return checked;
  const std::uint64_t available = available_memory_bytes();
  if (options.memory_limit_bytes != 0 && options.memory_limit_bytes < kLeastMemory) {
    return out_of_range("memory_limit_bytes", options.memory_limit_bytes, kLeastMemory, available);
  }
  if (options.memory_limit_bytes > available) {
    return {StatusCode::kResourceExhausted,
            fmt::format("Options::memory_limit_bytes is {}, but this process may use only {}",
                        options.memory_limit_bytes, available)};
  }
  if (options.prefault_bytes > available) {
    return {StatusCode::kResourceExhausted,
            fmt::format("Options::prefault_bytes is {}, but this process may use only {}", options.prefault_bytes,
                        available)};
  }
  return {};
}

Status check_shared(std::string_view table, const TableOptions& wanted, const Options& options) {
  const auto refuse = [&](std::string why) {
    return Status(StatusCode::kInvalidArgument, fmt::format("shared table '{}': {}", table, why));
  };
  if (wanted.max_value_bytes == 0 || wanted.max_value_bytes > kMaxSharedValueBytes)
    return refuse(
        fmt::format("max_value_bytes is {}; expected 1 to {}: every record gets room for so much and never moves",
                    wanted.max_value_bytes, kMaxSharedValueBytes));
  if (options.simple_allocator)
    return refuse("Options::simple_allocator is on, but other nodes reach only what lies in the database's own region");
  if (!options.overwrite_in_place)
    return refuse("Options::overwrite_in_place is off, but a shared record keeps its place, which other nodes know");
  return {};
}

Status check_expected_keys(std::string_view table, std::uint64_t keys) {
  if (keys >= 1 && keys <= kMaxExpectedKeys) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("table '{}': expected_keys is {}; expected 1 to {}", table, keys, kMaxExpectedKeys)};
}

Status no_room_for_header(std::string_view table, std::uint64_t keys) {
  return {StatusCode::kResourceExhausted,
          fmt::format("table '{}': no memory for the hash index of {} keys; raise memory_limit_bytes or lower "
                      "expected_keys",
                      table, keys)};
}

}  // namespace granary::db
