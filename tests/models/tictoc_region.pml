/* A part of tictoc_local.pml: a transaction that commits in an HTM region. No code does that: TicToc is not CommitsInRegion. The model
 * says what such code would have to keep. The transaction locks and freezes nothing, since everything is loaded and stored at one
 * moment, beside transactions that do these things one by one. */

inline extend_in_region(r) {
  if :: !IS_ANSWER(rts[r], E) -> goto done :: else fi;
  if :: RTS(rts[r], E) < COMMIT_TS -> rts[r] = WORD(COMMIT_TS) :: else fi
}
inline install_in_region(r) {
  tid[r] = COMMIT_TS;
#ifndef REGION_LEAVES_RTS
  rts[r] = WORD(COMMIT_TS)
#endif
}
#define FIT(r) (!locked[r] && (!MINE(reads, r) || tid[r] == SAW(r)))

proctype Region(byte me) {
  byte until[2], before[2];
  byte now, word, e, place;
  e_w[me] = E;
  if :: MINE(reads, X) -> read(X) :: else fi;
  if :: MINE(reads, Y) -> read(Y) :: else fi;
#ifdef REGION_IGNORES_EPOCH
  e = E;
#endif
#ifdef RTS_BEFORE_REGION
  before[X] = rts[X]; before[Y] = rts[Y];
#endif
  atomic {
    now = E;
#ifndef REGION_IGNORES_EPOCH
    e = E;
#endif
#ifndef RTS_BEFORE_REGION
    before[X] = rts[X]; before[Y] = rts[Y];
#endif
    if :: !FIT(X) || !FIT(Y) -> goto done :: else fi;
    FOUND(X) = tid[X]; FOUND(Y) = tid[Y];
    COMMIT_TS = FLOOR;
    if :: MINE(reads, X) -> beyond(SAW(X)) :: else fi;
    if :: MINE(reads, Y) -> beyond(SAW(Y)) :: else fi;
    if :: MINE(writes, X) -> beyond(LEAST(X)) :: else fi;
    if :: MINE(writes, Y) -> beyond(LEAST(Y)) :: else fi;
    if :: EPOCH(COMMIT_TS) > e -> goto done :: else fi;
    if :: MINE(reads, X) && !MINE(writes, X) -> extend_in_region(X) :: else fi;
    if :: MINE(reads, Y) && !MINE(writes, Y) -> extend_in_region(Y) :: else fi;
    decide();
    if :: MINE(writes, X) -> install_in_region(X) :: else fi;
    if :: MINE(writes, Y) -> install_in_region(Y) :: else fi
  };
  goto done;
undo:
done:
  atomic { e_w[me] = NONE; working-- }
}
