/* Several open transactions of one worker, which share its TIDs, its log's ring and its epochs (I1, I8, I10, I11, I13): each runs alone until it waits
 * for another node, and the others go on then. src/cc/commit.h, src/cc/decision.h and src/txn/context.cc are what is modelled.
 *
 * A fiber locks elsewhere, reads E and takes a TID; waits, while it validates; takes a TID behind all that the worker has decided meanwhile; finds room
 * in the ring, asks whether its node may commit, announces where its entry will end, and writes the entry, all without a wait; then it writes back.
 * TIDs in the ring ascend and are of their transaction's epoch, no entry of a complete epoch comes late, the ring never has more than it holds, nobody
 * commits behind the fence, and whoever finds the ring after a death takes for decided only what is in it.
 *
 * Each -D<NAME> below takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#define FIBERS 2
#define LAST 4      /* epoch */
#define OUT 99      /* of an epoch slot: not entered */
#define ROOM 3      /* of the ring */
#define ENTRY 2     /* its length */
#define TIDS 8      /* of an epoch */

byte E = 1;
byte slot[FIBERS] = OUT;
byte complete = 0;                  /* the loggers count on it: nothing of this epoch or an earlier one will be written any more */
byte last_tid = 0;                  /* epoch * TIDS + sequence, of the last entry in the ring */
byte tail = 0, taken = 0;           /* what was written to the ring, and what the loggers have taken out */
byte fence = 1;
byte announced[FIBERS];             /* where the entry will end; 0: not announced */
bool written[FIBERS];
byte ended = 0;

#ifdef ONE_SLOT
#define SLOT 0
#else
#define SLOT me
#endif

#define LEAST(a, b) ((a) < (b) -> (a) : (b))

proctype Epochs() {
end:
  do
  :: atomic { E < LAST && slot[0] >= E && slot[1] >= E -> E++ }
  :: d_step { complete < LEAST(E, LEAST(slot[0], slot[1])) - 1 -> complete = LEAST(E, LEAST(slot[0], slot[1])) - 1 }
  :: atomic { taken < tail -> taken++ }
  od
}

proctype Fence() { fence = 2 }

/* Returns a TID of the epoch behind the worker's last one; 0: there is none. */
inline take_tid() {
  tid = epoch * TIDS + 1;
  if
  :: last_tid >= tid -> tid = last_tid + 1
  :: else
  fi;
  if
  :: tid / TIDS != epoch -> tid = 0
  :: else
  fi
}

inline announce() { announced[me] = tail + ENTRY }

proctype Fiber(byte me) {
  byte epoch, tid = 0, noted, e_w;
  byte i;
again:
  atomic { slot[SLOT] = E; e_w = E; noted = fence }
  /* waits: what it reads and locks elsewhere */
#ifdef ROOM_BEFORE_WAIT
  tail - taken + ENTRY <= ROOM;
#endif
#ifdef RIGHT_BEFORE_WAIT
  if
  :: fence != noted -> goto out
  :: else
  fi;
#endif
  atomic {
    epoch = E;
    take_tid();
#ifdef ANNOUNCED_BEFORE_WAIT
    announce()
#endif
  }
  /* waits: validates elsewhere */
  atomic {
#ifndef ROOM_BEFORE_WAIT
    tail - taken + ENTRY <= ROOM;
#endif
#ifndef STAMPED_BEFORE_WAIT
    take_tid();
#endif
    if
    :: tid == 0 -> slot[SLOT] = OUT; announced[me] = 0; goto again
    :: else
    fi;
#ifndef RIGHT_BEFORE_WAIT
    if
    :: fence != noted -> goto out
    :: else
    fi;
#endif
#ifndef ANNOUNCED_BEFORE_WAIT
    announce();
#endif
    assert(fence == noted);
    assert(tid > last_tid && tid / TIDS == epoch);
    assert(epoch > complete && E <= e_w + 1);
    assert(tail - taken + ENTRY <= ROOM);
    tail = tail + ENTRY;
    last_tid = tid;
    written[me] = true;
    for (i : 0 .. FIBERS - 1) { assert(announced[i] == 0 || announced[i] > tail || written[i]) }
  }
  /* waits: writes back, which readers elsewhere expect of a transaction of this epoch only while its e_w stands; then marks its locks complete */
#ifdef LEAVES_WHILE_UNDER_WAY
  slot[SLOT] = OUT;
#endif
  assert(E <= e_w + 1);
out:
  atomic { announced[me] = 0; slot[SLOT] = OUT; ended++ }
}

init {
  atomic { run Epochs(); run Fence(); run Fiber(0); run Fiber(1) }
  ended == FIBERS
}
