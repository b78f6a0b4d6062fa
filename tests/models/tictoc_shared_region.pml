/* A part of tictoc_shared.pml: a reader and a writer at the owner that commit in HTM regions (src/cc/tictoc/region_steps.h). All that a
 * region loads and stores is of one moment, and another node that takes the record or raises its state word makes it abort. Each is
 * a transaction that writes, so its time is at least (E, 1). Where the code would go on with locks, they give up here. */

#ifdef REGION_IGNORES_STATE
#define HELD_BY_OTHER false
#else
#define HELD_BY_OTHER X_LOCKED(state)
#endif
#if defined(RTS_BEFORE_REGION)
#define RTS_IN_REGION 0
#elif defined(REGION_TAKES_OWNER_ONLY)
#define RTS_IN_REGION owner_rts
#else
#define RTS_IN_REGION MAX((X_LOCKED(state) -> 0 : state), owner_rts)
#endif

proctype RegionReader(byte me) {
  byte e, seen, word;
  begin(OWNER);
  atomic { if :: mark || X_LOCKED(state) -> goto undo :: else -> SAW(X) = tid fi };
  look_at_state();
  look_at_tid();
  look_at_epoch(OWNER);
#ifdef EPOCHS
  atomic { e = MAX(e, EPOCH(asks[me])) };
#endif
  agree_here();
  COMMIT_TS = MAX(asks[me], MAX(SAW(X), FLOOR));
  atomic {
    if :: E[OWNER] != e || HELD_BY_OTHER || mark || tid != SAW(X) -> goto undo :: else fi;
#ifndef REGION_RAISES_NO_RTS
    owner_rts = MAX(owner_rts, COMMIT_TS);
#endif
    decide()
  };
  goto done;
undo: skip;
  d_step { SAW(X) = 0; COMMIT_TS = 0 };
done: end()
}

proctype RegionWriter(byte me) {
  byte e, seen, word;
  begin(OWNER);
  look_at_epoch(OWNER);
  atomic { if :: mark -> goto undo :: else -> FOUND(X) = tid fi };
  atomic { if :: HELD_BY_OTHER -> goto undo :: else -> seen = (X_LOCKED(state) -> 0 : state) fi };
#ifdef REGION_TAKES_OWNER_ONLY
  seen = 0;
#endif
  word = owner_rts;
  choose_commit_ts();
  atomic {
    if :: E[OWNER] != e || HELD_BY_OTHER || mark || tid != FOUND(X) -> goto undo :: else fi;
    if :: RTS_IN_REGION >= COMMIT_TS -> goto undo :: else fi;
    decide();
    new_version()
  };
  goto done;
undo: skip;
  d_step { FOUND(X) = 0; COMMIT_TS = 0 };
done: end()
}
