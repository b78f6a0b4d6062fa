#pragma once
// Lets a thread that waits give its processor to others, one of which it may be waiting for.

namespace granary::base {

/// Lets other threads run for a moment: some 0.3 us if none wants this processor, and as long as they compute if some
/// do.
///
/// It calls sched_yield() as long as that returns soon. Linux 6.18 makes a thread that yields wait for a time slice or
/// more, some milliseconds, each time that another thread wants to compute. So a thread that waits for a microsecond
/// now and then would get next to nothing beside one that does not wait. After such a long yield, the thread therefore
/// sleeps for some 60 us instead, until ten times as long has passed as the yield took. That gives the processor away
/// just as well, and costs the thread nothing of its share.
void give_way();

}  // namespace granary::base
