#pragma once
// Runs the node that is searched, if it is not the reader: a process that has the tables and does nothing else.

#include <sys/types.h>

#include <memory>
#include <string>

#include "bench/remote/owned_table.h"
#include "cluster_config/provider.h"

namespace granary::bench::remote {

class OwnerProcess {
 public:
  /// Starts the process by a fork. Precondition: the caller has no threads yet. Returns when the table is filled and
  /// can be reached.
  static Result<std::unique_ptr<OwnerProcess>> start(cluster_config::Provider provider, const Data& data,
                                                     const std::string& run_directory);
  ~OwnerProcess();
  OwnerProcess(const OwnerProcess&) = delete;
  OwnerProcess& operator=(const OwnerProcess&) = delete;

  const Tables& tables() const { return tables_; }

 private:
  OwnerProcess() = default;

  pid_t process_ = -1;
  int hold_ = -1;  ///< the owner ends when this is closed
  Tables tables_;
};

}  // namespace granary::bench::remote
