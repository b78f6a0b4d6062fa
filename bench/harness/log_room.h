#pragma once
// Whether there is room for what a benchmark is going to log: told before it is measured, not by a full disk.

#include <cstdint>
#include <string>

#include <granary/granary.h>

namespace granary::bench {

/// What a run is going to write, as far as its warm-up tells.
struct LogForecast {
  double bytes_per_second = 0;   ///< that were logged so far
  double seconds = 0;            ///< to go on the same data
  std::uint64_t data_bytes = 0;  ///< of a checkpoint, about
};

/// Refuses (kResourceExhausted, with both numbers) what would fill a device more than nine tenths. Nothing is refused
/// without a log. `what` begins the message: "ycsb for 30 s". The directories need not be there, only their parents.
Status check_log_room(const Options& options, std::uint64_t bytes, const std::string& what);

/// The same for a forecast. With checkpoints the log of two intervals and two checkpoints count, else everything.
Status check_log_room(const Options& options, const LogForecast& forecast, const std::string& what);

}  // namespace granary::bench
