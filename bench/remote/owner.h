#pragma once
// The node that is searched: a process with a hash table of shared records, which does nothing while others read them.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include <granary/status.h>

#include "kvstore/remote/remote_table.h"

namespace granary::bench::remote {

inline constexpr rdma::NodeId kOwner = 1;
inline constexpr rdma::NodeId kReader = 2;

struct Data {
  std::uint64_t keys = 0;  ///< 8 bytes each: 0, 1, 2, ...
  std::uint32_t value_bytes = 0;
  std::string run_directory;  ///< where the two meet
};

class OwnerProcess {
 public:
  /// Forks: the caller has no threads yet. Returns when the table is filled and can be reached.
  static Result<std::unique_ptr<OwnerProcess>> start(const Data& data);
  ~OwnerProcess();
  OwnerProcess(const OwnerProcess&) = delete;
  OwnerProcess& operator=(const OwnerProcess&) = delete;

  const kvstore::remote::RemoteTable& table() const { return table_; }

 private:
  OwnerProcess() = default;

  pid_t process_ = -1;
  int hold_ = -1;  ///< the owner ends when this is closed
  kvstore::remote::RemoteTable table_;
};

}  // namespace granary::bench::remote
