/* A part of tictoc_local.pml: a transaction that commits in an HTM region (src/cc/tictoc/region_steps.h), beside one that takes its steps
 * one by one. It locks and freezes nothing. It chooses its time before the region; all that the region loads and stores is of one
 * moment. Where the code would go on with locks, it gives up here. */

inline plan(r) {
  atomic { if :: locked[r] -> goto undo :: else -> FOUND(r) = tid[r] fi };
  before[r] = rts[r]
}

#define HOLDS(r) (until[r] >= COMMIT_TS || (!locked[r] && tid[r] == SAW(r)))
#ifdef RTS_BEFORE_REGION
#define IS_BEFORE(r) true
#else
#define IS_BEFORE(r) (RTS(rts[r], e) < COMMIT_TS)
#endif
#define AS_PLANNED(r) (!locked[r] && tid[r] == FOUND(r) && IS_BEFORE(r))

inline extend_in_region(r) {
  if
  :: until[r] >= COMMIT_TS || NEEDS_NO_RTS -> skip
  :: else ->
     assert(!(rts[r] & FROZEN));
#ifndef REGION_RAISES_NO_RTS
     if :: RTS(rts[r], e) < COMMIT_TS -> rts[r] = WORD(COMMIT_TS) :: else fi
#endif
  fi
}
inline install_in_region(r) {
  tid[r] = COMMIT_TS;
#ifndef REGION_LEAVES_RTS
  rts[r] = WORD(COMMIT_TS)
#endif
}

proctype Region(byte me) {
  byte until[2], before[2];
  byte now, word, e, place;
  e_w[me] = E;
  if :: MINE(reads, X) -> read(X) :: else fi;
  if :: MINE(reads, Y) -> read(Y) :: else fi;
  e = E;
  if :: MINE(writes, X) -> plan(X) :: else fi;
  if :: MINE(writes, Y) -> plan(Y) :: else fi;
  atomic {
    now = e;
    COMMIT_TS = FLOOR;
    if :: MINE(reads, X) -> beyond(SAW(X)) :: else fi;
    if :: MINE(reads, Y) -> beyond(SAW(Y)) :: else fi;
    if :: MINE(writes, X) -> beyond(LEAST(X)) :: else fi;
    if :: MINE(writes, Y) -> beyond(LEAST(Y)) :: else fi;
    if :: EPOCH(COMMIT_TS) > e -> goto undo :: else fi
  };
  atomic {
#ifndef REGION_IGNORES_EPOCH
    if :: E != e -> goto undo :: else fi;
#endif
    if :: MINE(reads, X) && !HOLDS(X) -> goto undo :: else fi;
    if :: MINE(reads, Y) && !HOLDS(Y) -> goto undo :: else fi;
    if :: MINE(writes, X) && !AS_PLANNED(X) -> goto undo :: else fi;
    if :: MINE(writes, Y) && !AS_PLANNED(Y) -> goto undo :: else fi;
    if :: MINE(reads, X) -> extend_in_region(X) :: else fi;
    if :: MINE(reads, Y) -> extend_in_region(Y) :: else fi;
    decide();
    if :: MINE(writes, X) -> install_in_region(X) :: else fi;
    if :: MINE(writes, Y) -> install_in_region(Y) :: else fi
  };
  goto done;
undo: skip;
  d_step { SAW(X) = 0; SAW(Y) = 0; FOUND(X) = 0; FOUND(Y) = 0; COMMIT_TS = 0 };
done:
  atomic {
    e_w[me] = NONE; working--;
    until[X] = 0; until[Y] = 0; before[X] = 0; before[Y] = 0;
    now = 0; word = 0; e = 0; place = 0
  }
}
