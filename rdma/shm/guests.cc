#include "rdma/shm/guests.h"

#include <sys/socket.h>

#include "rdma/shm/hello.h"
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

/// Whether the guest has said farewell. The watcher or hang_up() takes a farewell from the socket, whichever comes
/// first. That one removes the guest before it lets go of the mutex, so the other one finds no guest any more.
bool Guests::says_farewell(const Guest& guest) {
  if (guest.socket < 0) return false;
  const Result<ReceivedHello> last = receive_hello(guest.socket);
  return last.ok() && last->files.empty() && last->hello.kind == HelloKind::kFarewell;
}

/// Erases a guest. The watcher forgets the descriptor before it is closed, since its number may be given to another
/// file.
Guests::Entries::iterator Guests::erase(Entries::iterator guest) {
  watcher_.remove(guest->second.process->handle());
  return guests_.erase(guest);
}

void Guests::hear_last(Ticket guest) {
  const std::lock_guard lock(mutex_);
  const auto found = guests_.find(guest);
  if (found == guests_.end()) return;
  if (says_farewell(found->second)) {
    erase(found);
  } else {
    found->second.socket = -1;
  }
}

void Guests::remove(Ticket guest) {
  const std::lock_guard lock(mutex_);
  if (const auto found = guests_.find(guest); found != guests_.end()) erase(found);
}

/// Breaks the locks of guests whose processes have ended. A guest says farewell only when it is in no operation any
/// more. So the entry of a guest that has ended with a lock is still here.
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
  for (auto at = guests_.begin(); at != guests_.end();) {
    const Guest& guest = at->second;
    const bool meant = guest.node == node && guest.generation <= last;
    if (meant && says_farewell(guest)) {
      at = erase(at);
      continue;
    }
    ++at;
    if (!meant) continue;
    if (guest.socket >= 0 && !base::injected("cut-off-keeps-connections")) ::shutdown(guest.socket, SHUT_RDWR);
    processes.push_back(guest.process);
  }
  return processes;
}

}  // namespace granary::rdma::shm
