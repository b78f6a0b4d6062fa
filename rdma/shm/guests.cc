#include "rdma/shm/guests.h"

#include <sys/socket.h>

#include "rdma/shm/watched_memory.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::shm {

Guests::Ticket Guests::add(NodeId node, Generation generation, Process named, int socket) {
  const auto process = std::make_shared<const Process>(std::move(named));
  const std::lock_guard lock(mutex_);
  const Ticket ticket = ++last_;
  guests_[ticket] = {node, generation, process, socket};
  watcher_.add(process->handle(), [this, ticket, process] {
    if (!process->ended()) return;  // the event may be of another file that had the descriptor's number
    break_locks_of_ended();
    remove(ticket);
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

/// A guest says farewell only when it is in no operation any more, so what an ended one has locked is found here.
void Guests::break_locks_of_ended() {
  if constexpr (!base::kTestHooks) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, guest] : guests_) {
    if (guest.process->ended()) base::lines::own().break_locks(holder_of(guest.node, guest.generation));
  }
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
