#pragma once
// How a thread that waits gives its processor to others, one of which it may be waiting for.

namespace granary::base {

/// Lets other threads run for a moment: some 0.3 us if none wants this processor, as long as they compute if some do.
///
/// It is sched_yield() as long as that returns soon. Linux 6.18 makes a thread that yields wait for a time slice or
/// more, some milliseconds, each time that somebody else wants to compute: a thread that waits for a microsecond here
/// and there gets next to nothing beside one that does not. So after such a yield the thread sleeps for some 60 us
/// instead, until ten times as long has passed as the yield took. That gives the processor away just as well, and costs
/// it nothing of its share.
void give_way();

}  // namespace granary::base
