#pragma once
// The door of a node's service (I34): who is inside works with the service, its endpoint and the owner's worker, and is alone with them.
// Inside is the backstop, which is the service's own thread, or a worker that is awake and has seen that something came for it.
//
// A worker never waits at the door: who finds somebody inside goes on with its own work and looks again later. The backstop does not wait
// either, and must not miss anything: before it sleeps it looks at all rings, for which it has to be inside. If it finds a worker
// inside, it leaves word; that worker rouses it when it has gone out.

#include <atomic>
#include <cstdint>

#include "rdma/fabric.h"

namespace granary::cluster::messages {

class Service;

/// Thread-safe. It outlives the service and the workers, and is closed until a service opens it. The endpoint outlives whoever is inside.
class Door {
 public:
  /// From now on they may go in to the service, whose endpoint this is. Before there are workers and a backstop.
  void open(Service& service, rdma::Endpoint& endpoint);
  /// Nobody goes in any more; waits until nobody is inside. The backstop has ended, and the service does so only afterwards.
  void close();

  // A worker.
  /// The service, if nobody is inside; else nullptr.
  Service* enter();
  /// It goes out. `rouse`: it leaves something behind that only the backstop does.
  void leave(bool rouse);

  // The backstop.
  /// False if a worker is inside, which rouses the backstop when it goes out.
  bool enter_or_ask();
  void leave_as_backstop();

 private:
  enum class Inside : std::uint8_t {
    kClosed,
    kNobody,
    kWorker,
    kWorkerAsked,  ///< a worker, which is to rouse the backstop
    kBackstop,
  };

  // Who is inside. It goes from kNobody to who goes in by compare-and-set, with acquire, and back by who goes out, with release: who goes in
  // sees all that was done inside before, so what lies inside needs no atomics. The backstop makes kWorkerAsked of kWorker by compare-and-set.
  // Either it comes before the worker's exchange to kNobody, which then tells the worker to rouse; or it fails, and the backstop finds nobody
  // and goes in itself. So what came after the worker's last look is looked at.
  std::atomic<Inside> inside_{Inside::kClosed};
  // Set before the first kNobody, and constant then.
  Service* service_ = nullptr;
  rdma::Endpoint* endpoint_ = nullptr;
};

}  // namespace granary::cluster::messages
