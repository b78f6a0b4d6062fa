#pragma once
// Tells how much of their waiting the fibers of a worker hide from each other: a closed queue of the fibers at the
// worker's processor. A fiber has the processor until its transaction waits for the network. What it runs until then is
// a burst: any number of local transactions, and a part of a distributed one. Then the next fiber that is ready has the
// processor, and with none it idles.
//
// All waits take equally long, so fibers come back in the order in which they went, and have the processor in turn.
// A burst therefore begins when the one before it has ended and its own fiber's wait is over; that is all the queue.
// Bursts are not equally long, as chance makes each transaction a local or a distributed one. In a long burst the other
// fibers' waits end long before they can go on, and behind some short ones all fibers wait. So a processor idles also
// where the fibers' waits are shorter on average than the bursts of the others.

#include <cstdint>

namespace granary::bench::predict {

/// The work and the waits of a worker's average transactions. A distributed one's work lies evenly before its waits.
struct FiberLoad {
  std::uint32_t fibers = 1;      ///< at least 1
  double distributed_share = 0;  ///< of the transactions, from 0 to 1
  double local_ns = 0;           ///< the processor's time for a local transaction
  double distributed_ns = 0;     ///< its time for a distributed one
  double waits = 1;              ///< how many times a distributed one waits; less than 1 counts as 1
  double waiting_ns = 0;         ///< how long it waits in all
};

/// Returns how long the processor idles for each distributed transaction, on average: all of `waiting_ns` with one
/// fiber, and the less of it the more fibers there are. The mean is that of many transactions drawn at random, always
/// the same ones; it is exact where all bursts are equal.
double idle_ns(const FiberLoad& load);

}  // namespace granary::bench::predict
