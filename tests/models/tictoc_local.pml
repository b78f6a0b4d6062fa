/* TicToc on one node: the TID word of a record is its wts, and a second word holds its rts, which readers raise. init chooses what
 * the transactions read and write, and what commit_ts their accesses at other nodes ask for. E moves meanwhile.
 *
 * The rts word has the low bits of an epoch, a sequence, and the frozen bit. Here the epoch has two bits in place of 18, so that an
 * rts of four epochs ago looks like one of now.
 *
 * The judge is in tictoc_judge.pml. Besides, no transaction is of an epoch before its e_w, so whatever was durable when it began is
 * serial before it; and at the end no record is locked or frozen.
 *
 *   (nothing)     two transactions, while E moves
 *   -DTHREE       a reader, a writer, and another reader or a writer that may abort, in one epoch
 *   -DWRAPS       two readers and a writer of a record whose rts is old enough to look like one of the next epoch, while E moves
 *   -DLATE_EPOCH  the same by another rule: E is loaded after the rts and before the TID. Then such a word can only be an old one
 *   -DREGION      two transactions, one of which commits in an HTM region (tictoc_region.pml), while E moves
 *   -DGROWS       a reader, and a writer that puts a larger record in the place of the one that it found, while E moves
 *   -DWHOLE       two transactions and a reader, while E moves
 *
 * Not here: values (a version is known by its TID); keys that are not there, and scans (tictoc_phantom.pml); other nodes
 * (tictoc_shared.pml); processors that reorder. An extension whose CAS failed is not tried again: that is as good as one that begins
 * later.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#ifdef LATE_EPOCH
#define WRAPS
#endif
#if defined(THREE) || defined(WRAPS) || defined(WHOLE)
#define TRANSACTIONS 3
#else
#define TRANSACTIONS 2
#endif
#define FIRST_EPOCH 3
#ifdef THREE
#define LAST_EPOCH 3
#else
#define LAST_EPOCH 4
#endif
#include "tictoc_judge.pml"

/* The rts word. It is read as the greatest time up to the end of the present epoch that looks like it. */
#define FROZEN 128
#define WRAP 4
#define WORD(time) ((time) % (WRAP * SEQUENCES))
#define SEEN_EPOCH(word) (((word) & ~FROZEN) / SEQUENCES)
#define AGE(word, now) (((now) + WRAP - SEEN_EPOCH(word)) % WRAP)
#define RTS(word, now) TIME((now) - AGE(word, now), (word) % SEQUENCES)
/* A word with the bits of E + 1 was raised since E was loaded, or is as old as the bits can tell: no answer. */
#if defined(NEXT_EPOCH_IS_AN_OLD_ONE) || defined(LATE_EPOCH)
#define IS_ANSWER(word, now) true
#define REACH(word, now) RTS(word, now)
#elif defined(NEXT_EPOCH_IS_BELIEVED)
#define IS_ANSWER(word, now) true
#define REACH(word, now) (AGE(word, now) == WRAP - 1 -> RTS(word, (now) + 1) : RTS(word, now))
#else
#define IS_ANSWER(word, now) (AGE(word, now) != WRAP - 1)
#define REACH(word, now) RTS(word, now)
#endif

/* The records; the third is what X grows into, which is then replaced. */
byte tid[3], rts[3];
bool locked[3], replaced;

byte E = FIRST_EPOCH;
byte e_w[TRANSACTIONS] = NONE;                    /* NONE: no transaction is open */
byte working = TRANSACTIONS;

#ifdef GROWS
#define PLACE(r) ((r) == X -> place : (r))
#else
#define PLACE(r) (r)
#endif

#ifdef EPOCH_BEHIND_TID
#define load_epoch_late() now = E
#else
#define load_epoch_late() skip
#endif
#ifdef LATE_EPOCH
inline load_rts(r) { word = rts[PLACE(r)]; now = E }
#else
inline load_rts(r) { now = E; word = rts[PLACE(r)] }
#endif

/* Looks a record up, and reads it as Silo does; with its rts. (Three transactions do without: whoever needs it loads it again.) */
inline read(r) {
#ifdef GROWS
  place = (replaced -> 2 : X);
#endif
  atomic { if :: locked[PLACE(r)] -> goto undo :: else -> SAW(r) = tid[PLACE(r)] fi };
#if TRANSACTIONS == 2
  load_rts(r);
  atomic { if :: locked[PLACE(r)] || tid[PLACE(r)] != SAW(r) -> goto undo :: else fi };
  load_epoch_late();
  atomic {
    until[r] = (IS_ANSWER(word, now) -> REACH(word, now) : 0);
    until[r] = MAX(until[r], SAW(r));
    word = 0
  }
#endif
}

#ifdef GROWS
#define CHANGED(r) (tid[PLACE(r)] != SAW(r) || (PLACE(r) == X && replaced))
#else
#define CHANGED(r) (tid[PLACE(r)] != SAW(r))
#endif
#ifdef EXTENDS_A_LOCKED_RECORD
#define UNFIT(r) CHANGED(r)
#else
#define UNFIT(r) (locked[PLACE(r)] || CHANGED(r))
#endif

inline look(r) { atomic { if :: locked[PLACE(r)] || CHANGED(r) -> goto undo :: else fi } }

/* Nobody who locks the record behind the look gets an earlier time than (E, 1). So a reader of that time needs no rts: whoever overwrites
 * what it has read has the same time or a later one, and locked the record behind its look. */
#ifdef TIES_LATE
#define NEEDS_NO_RTS (COMMIT_TS <= TIME(e, 3))
#else
#define NEEDS_NO_RTS (COMMIT_TS <= TIME(e, 1))
#endif

/* Makes the version that was read valid up to commit_ts. */
inline extend(r) {
  if
  :: (held & BIT(r)) || until[r] >= COMMIT_TS -> skip
  :: else ->
#ifdef LOOKS_BEFORE_RTS
     atomic { if :: UNFIT(r) -> goto undo :: else fi };
#endif
     load_rts(r);
#if defined(TIES_WITHOUT_LOOK)
     atomic { if :: !NEEDS_NO_RTS && UNFIT(r) -> goto undo :: else fi };
#elif !defined(LOOKS_BEFORE_RTS) && !defined(EXTENDS_WITHOUT_LOOK)
     atomic { if :: UNFIT(r) -> goto undo :: else fi };
#endif
     load_epoch_late();
     if
     :: NEEDS_NO_RTS -> skip
     :: else ->
        if :: (word & FROZEN) || !IS_ANSWER(word, now) -> goto undo :: else fi;
        if
        :: REACH(word, now) >= COMMIT_TS ->
#ifdef RTS_SHRINKS
           rts[PLACE(r)] = WORD(COMMIT_TS)
#endif
        :: else -> atomic { if :: rts[PLACE(r)] == word -> rts[PLACE(r)] = WORD(COMMIT_TS) :: else -> goto undo fi }
        fi
     fi
  fi
}

inline lock(r) {
#ifdef GROWS
  place = (replaced -> 2 : X);
#endif
  atomic {
    if :: locked[PLACE(r)] || (MINE(reads, r) && tid[PLACE(r)] != SAW(r)) -> goto undo :: else fi;
    locked[PLACE(r)] = true;
    FOUND(r) = tid[PLACE(r)];
    held = held | BIT(r)
  };
  /* One fetch-or. */
  atomic {
    before[r] = rts[PLACE(r)];
#ifndef NO_FREEZE
    rts[PLACE(r)] = before[r] | FROZEN
#endif
  }
}

#ifdef OVERWRITES_AT_RTS
#define LEAST(r) MAX(RTS(before[r], now), FOUND(r) + 1)
#else
#define LEAST(r) (MAX(RTS(before[r], now), FOUND(r)) + 1)
#endif
#define beyond(least) COMMIT_TS = MAX(COMMIT_TS, least)

#if defined(NO_FLOOR)
#define FLOOR 0
#elif defined(FLOOR_IS_A_TIE)
#define FLOOR TIME(e, 0)
#else
#define FLOOR TIME(e, 1)
#endif

inline install(r) {
#ifdef GROWS
#ifdef REPLACED_RECORD_KEEPS_ITS_RTS
  rts[X] = before[r];
#else
  rts[X] = WORD(COMMIT_TS);                        /* not frozen, as of any record: TicToc::install() */
#endif
  atomic { tid[2] = COMMIT_TS; rts[2] = WORD(COMMIT_TS); replaced = true };
  locked[X] = false
#elif defined(TID_BEFORE_RTS)
  atomic { tid[r] = COMMIT_TS; locked[r] = false };
  rts[r] = WORD(COMMIT_TS)
#else
  rts[r] = WORD(COMMIT_TS);
  atomic { tid[r] = COMMIT_TS; locked[r] = false }
#endif
}

inline give_back(r) {
#ifdef ABORT_LOSES_RTS
  rts[PLACE(r)] = WORD(FOUND(r));
#elif !defined(NO_FREEZE)
  rts[PLACE(r)] = before[r];
#endif
  locked[PLACE(r)] = false
}

inline decide() {
  assert(EPOCH(COMMIT_TS) >= e_w[me]);
  committed[me] = true
}

proctype Transaction(byte me) {
  byte until[2], before[2];
  byte now, word, e, held, place;
#ifdef WRAPS
  me != 1 || E == LAST_EPOCH;                      /* fewer states */
#endif
  e_w[me] = E;                                     /* until it is E again, so as good as one step (I13) */
  if :: MINE(reads, X) -> read(X) :: else fi;
  if :: MINE(reads, Y) -> read(Y) :: else fi;
#ifdef FLOOR_BEFORE_LOCKS
  e = E;
#endif

  if :: MINE(writes, X) -> lock(X) :: else fi;
  if :: MINE(writes, Y) -> lock(Y) :: else fi;
  now = E;
#ifndef FLOOR_BEFORE_LOCKS
  e = now;
#endif
  /* Agreed on with the other nodes. */
  e = MAX(e, EPOCH(asks[me]));
#ifndef RAISES_BEYOND_EPOCH
  E >= e;
#endif

  atomic {
    COMMIT_TS = asks[me];
    if :: MINE(reads, X) -> beyond(SAW(X)) :: else fi;
    if :: MINE(reads, Y) -> beyond(SAW(Y)) :: else fi;
    if :: MINE(writes, X) -> beyond(LEAST(X)); beyond(FLOOR) :: else fi;
    if :: MINE(writes, Y) -> beyond(LEAST(Y)); beyond(FLOOR) :: else fi;
    if :: EPOCH(COMMIT_TS) > e -> goto undo :: else fi
  };
  if
  :: writes[me] == 0 && COMMIT_TS <= TIME(e, 0) -> /* what is unlocked now is valid up to then */
     if :: MINE(reads, X) -> look(X) :: else fi;
     if :: MINE(reads, Y) -> look(Y) :: else fi;
#ifdef EPOCH_BEHIND_LOOKS
     e = E;
#endif
     COMMIT_TS = TIME(e, 0)
  :: else ->
     if :: MINE(reads, X) -> extend(X) :: else fi;
     if :: MINE(reads, Y) -> extend(Y) :: else fi
  fi;
#ifdef THREE
  if :: held != 0 && me == 1 -> goto undo :: skip fi;         /* for another reason */
#endif

  atomic { decide() };
  if :: MINE(writes, X) -> install(X) :: else fi;
  if :: MINE(writes, Y) -> install(Y) :: else fi;
  goto done;

undo:
  if :: held & BIT(X) -> give_back(X) :: else fi;
  if :: held & BIT(Y) -> give_back(Y) :: else fi;
  d_step { SAW(X) = 0; SAW(Y) = 0; FOUND(X) = 0; FOUND(Y) = 0; COMMIT_TS = 0 };
done:
  atomic {
    e_w[me] = NONE; working--;
    until[X] = 0; until[Y] = 0; before[X] = 0; before[Y] = 0;
    now = 0; word = 0; e = 0; held = 0; place = 0
  }
}

#ifdef REGION
#include "tictoc_region.pml"
#endif

proctype Epochs() {
  do
  :: E < LAST_EPOCH -> atomic { e_w[0] >= E && e_w[1] >= E && e_w[TRANSACTIONS - 1] >= E -> E++ }
  :: else -> break
  od
}

#define FREE(r) (!locked[r] && !(rts[r] & FROZEN))

init {
  atomic {
    tid[X] = TIME(3, 1); rts[X] = WORD(TIME(3, 2));
    tid[Y] = TIME(2, 1); rts[Y] = WORD(TIME(2, 2));
#if defined(THREE)
    transaction(0, BIT(X), 0); asks[0] = TIME(FIRST_EPOCH, 6);
    if
    :: transaction(1, BIT(X), 0); asks[1] = TIME(FIRST_EPOCH, 4)
    :: transaction(1, 0, BIT(X))
    fi;
    transaction(2, 0, BIT(X));
#elif defined(WRAPS)
    tid[X] = TIME(0, 1); rts[X] = WORD(TIME(0, 2));
    transaction(0, BIT(X), 0);
    if
    :: asks[0] = TIME(FIRST_EPOCH, 6); transaction(1, BIT(X), 0); asks[1] = TIME(LAST_EPOCH, 6)
    :: asks[0] = TIME(LAST_EPOCH, 2)
    fi;
    transaction(2, 0, BIT(X));
#elif defined(GROWS)
    transaction(0, BIT(X), 0); asks[0] = TIME(FIRST_EPOCH, 6);
    transaction(1, 0, BIT(X));
#else
    if
    :: transaction(0, BIT(X), BIT(Y))
    :: transaction(0, BOTH, 0)
#ifndef WHOLE
    :: transaction(0, BIT(X), 0)
    :: transaction(0, BIT(Y), 0)
#endif
    fi;
    if
    :: transaction(1, BIT(Y), BIT(X))
    :: transaction(1, BIT(X), BOTH)
#ifndef WHOLE
    :: transaction(1, 0, BIT(X))
#endif
    fi;
    if
    :: asks[0] = TIME(FIRST_EPOCH, 6)
#ifdef WHOLE
    fi;
    transaction(2, BOTH, 0);
#else
    :: asks[0] = 0
    :: asks[0] = TIME(LAST_EPOCH, 3)
    fi;
#endif
#endif
    run Epochs();
    run Transaction(0);
#ifdef REGION
    run Region(1);
#else
    run Transaction(1);
#endif
#if TRANSACTIONS == 3
    run Transaction(2);
#endif
  };
  working == 0;
  d_step {
    judge_all();
    assert(FREE(X) && FREE(Y))
  }
}
