#pragma once
// Checks that there is room for the log of a benchmark before it is measured, so that the disk does not become full
// meanwhile.

#include <cstdint>
#include <string>

#include <granary/granary.h>

namespace granary::bench {

/// The data that a run is going to write, as far as its warm-up tells.
struct LogForecast {
  double bytes_per_second = 0;   ///< logged so far, on average
  double seconds = 0;            ///< the length of the run and of those to come on the same data
  std::uint64_t data_bytes = 0;  ///< the size of a checkpoint, about
};

/// Refuses (kResourceExhausted, with both numbers) a log that would fill a device to more than nine tenths. Refuses
/// nothing without a log. `what` begins the message: "ycsb for 30 s". The directories need not exist, only their
/// parents.
Status check_log_room(const Options& options, std::uint64_t bytes, const std::string& what);

/// Checks a forecast. With checkpoints the log of two intervals and two checkpoints count, else the whole log.
Status check_log_room(const Options& options, const LogForecast& forecast, const std::string& what);

}  // namespace granary::bench
