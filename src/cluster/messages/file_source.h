#pragma once
// The files of this node that others may read, and their content.

#include "src/cluster/messages/requests.h"

namespace granary::cluster::messages {

/// Asked by the service's thread, which waits for the disk meanwhile: for nodes that start.
class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual void answer(const ListFiles& request, ListFilesAnswer& answer) = 0;
  virtual void answer(const ReadFile& request, ReadFileAnswer& answer) = 0;
};

}  // namespace granary::cluster::messages
