#pragma once
// The process that writes a log and is killed.

#include <sys/types.h>

#include <string>

#include <granary/granary.h>

#include "bench/recovery/contents.h"

namespace granary::bench::recovery {

/// When a checkpoint is taken: never, after half of the load, or after all of it.
enum class CheckpointAt { kNever, kHalf, kEnd };

/// The report of the victim once all is durable.
struct Written {
  bool ok = false;
  char message[256] = {};  ///< if not ok, the reason, cut to fit
  StatusCode code = StatusCode::kOk;
  double seconds = 0;  ///< time of writing, until all was durable; without the checkpoint
  std::uint64_t log_bytes = 0, transactions = 0;
  double checkpoint_seconds = 0;
  double checkpoint_core_seconds = 0;  ///< processor time of the process during the checkpoint; it does little else
};

inline constexpr const char* kTableName = "records";

/// Returns the processor time that this process has taken so far.
double processor_seconds();

/// Runs a process that opens an empty database, writes the load, takes the checkpoint, and is killed by SIGKILL when
/// all of it is durable, in the middle of its life. Precondition: this process has only one thread.
Result<Written> write_and_kill(const Options& options, const Load& load, CheckpointAt checkpoint, bool progress);

}  // namespace granary::bench::recovery
