#include "rdma/shm/guests.h"

#include <sys/socket.h>

#include "src/base/test_hooks.h"

namespace granary::rdma::shm {

Guests::Ticket Guests::add(NodeId node, Generation generation, Process named, int socket) {
  const auto process = std::make_shared<const Process>(std::move(named));
  const std::lock_guard lock(mutex_);
  const Ticket ticket = ++last_;
  guests_[ticket] = {node, generation, process, socket};
  watcher_.add(process->handle(), [this, ticket, process] {
    if (process->ended()) remove(ticket);  // the event may be of another file that had the descriptor's number
  });
  return ticket;
}

void Guests::forget_socket(Ticket guest) {
  const std::lock_guard lock(mutex_);
  const auto found = guests_.find(guest);
  if (found != guests_.end()) found->second.socket = -1;
}

/// The watcher forgets the descriptor before it is closed, since its number may be given again.
void Guests::remove(Ticket guest) {
  const std::lock_guard lock(mutex_);
  const auto found = guests_.find(guest);
  if (found == guests_.end()) return;
  watcher_.remove(found->second.process->handle());
  guests_.erase(found);
}

Processes Guests::hang_up(NodeId node, Generation last) {
  Processes processes;
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, guest] : guests_) {
    if (guest.node != node || guest.generation > last) continue;
    if (guest.socket >= 0 && !base::injected("cut-off-keeps-connections")) ::shutdown(guest.socket, SHUT_RDWR);
    processes.push_back(guest.process);
  }
  return processes;
}

}  // namespace granary::rdma::shm
