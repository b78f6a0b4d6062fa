#include "rdma/verbs/alarm.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "rdma/verbs/cm_events.h"

namespace granary::rdma::verbs {

Result<Alarm> Alarm::open() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) return cm_error("make an eventfd");
  return Alarm(descriptor);
}

Alarm::~Alarm() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Alarm::raise() const {
  const std::uint64_t one = 1;
  (void)!::write(descriptor_, &one, sizeof one);
}

void Alarm::clear() const {
  std::uint64_t count = 0;
  (void)!::read(descriptor_, &count, sizeof count);
}

}  // namespace granary::rdma::verbs
