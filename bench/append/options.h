#pragma once
// The options of a list-append run.

#include <cstdint>

namespace granary::bench::append {

struct AppendOptions {
  std::uint32_t workers = 2;
  std::uint32_t fibers = 1;              ///< clients of each worker, which take turns
  std::uint64_t transactions = 100'000;  ///< invocations in all, over all workers
  double seconds = 0;                    ///< the run stops after this long at the latest; 0 = no limit
  std::uint32_t keys = 8;                ///< lists in use at the same time, of each node: the fewer, the hotter
  bool hash = false;                     ///< whether they are in a hash table; then there are no scans
  std::uint32_t min_ops = 2;             ///< fewest micro-operations of a transaction
  std::uint32_t max_ops = 6;
  std::uint32_t max_length = 64;  ///< appends to a list before a fresh key takes its place
  double read_share = 0.5;        ///< share of the micro-operations that read
  double last_share = 0;    ///< share of the reads that read a list's last element alone, which appends write blindly
  double move_share = 0;    ///< share of the appends that move the list, so that a record goes and another is born
  double scan_share = 0.1;  ///< share of the transactions that read their lists by one range scan
  double snapshot_share =
      0;  ///< share of the transactions that are snapshots and read lists; judged apart, not strictly
  double abort_share = 0.02;   ///< share of the transactions that the client gives up
  double forget_share = 0;     ///< share of the transactions whose client does not wait to learn the outcome
  bool declare = false;        ///< transactions without scans declare what they will do (lease_2pl)
  bool released = false;       ///< clients learn outcomes once the log has released them, not at commit
  std::uint64_t think_us = 0;  ///< pause between transactions of a client
  bool until_stopped = false;  ///< whether only a stop ends the run, whatever `transactions` and `seconds` say
  double yield_share = 0;      ///< share of the micro-operations before which the client gives the processor away
  std::uint64_t seed = 1;
};

}  // namespace granary::bench::append
