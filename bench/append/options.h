#pragma once
// How a list-append run is shaped.

#include <cstdint>

namespace granary::bench::append {

struct AppendOptions {
  std::uint32_t workers = 2;
  std::uint32_t fibers = 1;              ///< clients of each worker, which take turns
  std::uint64_t transactions = 100'000;  ///< invocations in all, over all workers
  double seconds = 0;                    ///< stop earlier after this long; 0 = no limit
  std::uint32_t keys = 8;                ///< lists in use at the same time, of each node: the fewer, the hotter
  bool hash = false;                     ///< they are in a hash table; no scans then
  std::uint32_t min_ops = 2;             ///< micro-operations a transaction
  std::uint32_t max_ops = 6;
  std::uint32_t max_length = 64;  ///< appends to a list before a fresh key takes its place
  double read_share = 0.5;        ///< of the micro-operations
  double last_share = 0;          ///< of the reads: of a list's last element alone, which appends write blindly
  double move_share = 0;          ///< of the appends: move the list, so that a record goes and another is born
  double scan_share = 0.1;        ///< of the transactions: read their lists by one range scan
  double snapshot_share = 0;      ///< of the transactions: a snapshot that reads lists; judged apart, not strictly
  double abort_share = 0.02;      ///< of the transactions: given up by the client
  double forget_share = 0;        ///< of the transactions: the client does not wait to learn the outcome
  bool declare = false;           ///< transactions without scans declare what they will do (lease_2pl)
  bool released = false;          ///< clients learn outcomes once the log has released them, not at commit
  std::uint64_t think_us = 0;     ///< between transactions of a client
  bool until_stopped = false;     ///< whatever `transactions` and `seconds` say
  double yield_share = 0;         ///< of the micro-operations: give the processor away before it
  std::uint64_t seed = 1;
};

}  // namespace granary::bench::append
