#pragma once
// Has the settings of a database that the commit path looks at.

#include <cstdint>

namespace granary::cc {

/// Constant after the database has opened.
struct Settings {
  std::uint8_t protocol = 0;  ///< the protocol's number in the registry (protocols.h)
  bool stamps_reads = false;  ///< the protocol computes times (Abilities::stamps_reads)
  bool in_regions = false;    ///< the protocol runs whole transactions in HTM regions (Abilities::runs_in_region)
  bool reads_parts = false;   ///< parts of local records can be read (Abilities::reads_parts)
  bool writes_parts = false;  ///< parts of local records can be written (WriteEntry::is_part)
  bool snapshots = true;
  bool garbage_collection = true;
  bool overwrite_in_place = true;
  bool global_tids = false;
  bool claim_without_waiting = false;  ///< Options::tictoc_no_wait
  bool look_before_claiming = false;   ///< Options::tictoc_preempt
  bool session_order = false;          ///< Options::session_order
  bool small_log_records = false;      ///< the log has TIDs only, for measurements
  std::uint32_t epoch_ms = 0;          ///< the epoch period; 0: epochs pass only when the application says so
};

}  // namespace granary::cc
