#pragma once
// Opens the fabric of processes on one machine. Regions are memory files that peers map, the initiator's CPU does the
// operations, and the target takes no part.
//
// Processes are started independently and meet in a run directory, where node N listens at `node-N.sock`. The lock file
// `node-N.lock` gives the node's name to one process at a time. Only processes of the same user are let in. A socket
// stays open between two that have met. When it is hung up, or the process ends, the peer is dead, and its connections
// break. A process that is let in has passed a pidfd of itself (Linux 5.3), by which cut_off() ends it.

#include <memory>
#include <string>

#include "rdma/fabric.h"

namespace granary::rdma::shm {

struct ShmOptions {
  NodeOptions node;
  std::string run_directory;  ///< exists, private to the user (mode 0700); its path is at most about 90 characters
};

/// Opens the fabric. Returns kUnavailable if another living process has the node's name, or the directory cannot be
/// used.
Result<std::unique_ptr<Fabric>> open_shm_fabric(const ShmOptions& options);

}  // namespace granary::rdma::shm
