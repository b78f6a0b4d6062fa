/* TicToc and a key that is not there. commit_ts may be behind or ahead of what others do now, so a leaf that has not changed says
 * nothing about the time after the look. A transaction that misses the key therefore leaves its commit_ts behind: in its worker's word
 * or, where it looks into the leaf of another node by itself, in a word of its own at that node. It raises the word, and then looks at
 * the leaf. Whoever first writes a record of TID 0 reads all these words once the record is in the leaf, and goes beyond them.
 *
 * One transaction looks for key X, then overwrites or reads record Y; another one inserts X. The judge is in tictoc_judge.pml; to
 * miss a key is to read the version that its deletion has made. TIDs of a key grow, also where its record is another one.
 *
 *   (nothing)   these two while E moves, beside somebody who puts a record of TID 0 into the leaf and gives up
 *   -DUNHOOK    these two while E moves, beside a garbage collector that unhooks the key's absent record
 *   -DREGION    the same as without a flag, but the inserter commits in an HTM region (tictoc_phantom_region.pml), and its stores into
 *               the leaf reach the others late
 *   -DCYCLE     a third transaction reads both, in one epoch. The judge asks only that there is a serial order, whatever it is
 *   -DWHOLE     the third transaction, while E moves, beside who gives up
 *
 * Not here: how an rts is raised, frozen and given back (tictoc_local.pml), except where the collector meets it; scans of several
 * leaves, and splits, which change a leaf's version as an insert does; processors that reorder, but for the stores of the region's
 * inserter (NO_FENCE): the two orders that fences must keep are LOOKS_BEFORE_RAISING and WORDS_BEFORE_INSERT.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#if defined(CYCLE) || defined(WHOLE)
#define TRANSACTIONS 3
#else
#define TRANSACTIONS 2
#endif
#define FIRST_EPOCH 1
#ifdef CYCLE
#define LAST_EPOCH 1
#define CYCLES_ONLY
#else
#define LAST_EPOCH 2
#endif
#include "tictoc_judge.pml"

/* The leaf: its version, and the record that the key leads to. A removal leaves the version as it is. */
byte leaf;
byte record = NONE;

/* Records that the key may have, one after the other. */
#define RECORDS 3
#define FROZEN 128
byte tid[RECORDS], rts[RECORDS];
bool locked[RECORDS], superseded[RECORDS];
bool present[RECORDS];
byte born;
byte key_tid;                                     /* of the key's latest version, also if its record is gone */

byte y_tid = TIME(0, 1), y_rts = TIME(0, 1);
bool y_locked;

/* The words that are raised: a worker's, and one that another node WRITEs. */
#define HERE 0
#define THERE 1
byte missed_until[2];

#ifdef REGION
byte buffered = NONE;                             /* a record that its inserter has put into the leaf, and nobody else sees there */
#define LEAF_IS_LOCKED (buffered != NONE)
#else
#define LEAF_IS_LOCKED false
#endif

byte E = FIRST_EPOCH;
byte e_w[TRANSACTIONS] = NONE;
byte working = TRANSACTIONS;

inline decide() {
  assert(EPOCH(COMMIT_TS) >= e_w[me]);
  committed[me] = true
}
inline put_into_leaf() {
  atomic {
    record = born;
    born++;
    leaf++
  }
}

#define UNCHANGED(at) (!locked[at] && !superseded[at] && tid[at] == SAW(X))

/* Looks for X. The version that it finds absent, or present, counts alike. */
proctype Looker(byte me) {
  byte seen_leaf, at = NONE, e, word, where;
  if :: where = HERE :: where = THERE fi;
  e_w[me] = E;
  atomic {
    seen_leaf = leaf;
    at = record;
    SAW(X) = key_tid;
    if :: at != NONE && !UNCHANGED(at) -> goto undo :: else fi
  };
  if
  :: MINE(writes, Y) -> atomic { if :: y_locked -> goto undo :: else -> y_locked = true; FOUND(Y) = y_tid fi }
  :: else -> atomic { if :: y_locked -> goto undo :: else -> SAW(Y) = y_tid fi }
  fi;
  e = E;
  atomic {
    COMMIT_TS = MAX(asks[me], SAW(X));
    if
    :: MINE(writes, Y) -> COMMIT_TS = MAX(COMMIT_TS, y_rts + 1); COMMIT_TS = MAX(COMMIT_TS, TIME(e, 1))
    :: else -> COMMIT_TS = MAX(COMMIT_TS, SAW(Y))
    fi;
    if :: EPOCH(COMMIT_TS) > e -> goto undo :: else fi
  };
  if :: COMMIT_TS <= TIME(e, 0) -> COMMIT_TS = TIME(e, 0) :: else fi;
  if
  :: at != NONE && COMMIT_TS == TIME(e, 0) -> atomic { if :: !UNCHANGED(at) -> goto undo :: else fi }
  :: at != NONE && COMMIT_TS != TIME(e, 0) ->
     word = rts[at];
     atomic { if :: (word & FROZEN) || !UNCHANGED(at) -> goto undo :: else fi };
     atomic { if :: rts[at] != word -> goto undo :: else -> rts[at] = MAX(word, COMMIT_TS) fi }
  :: at == NONE ->
#ifdef LOOKS_BEFORE_RAISING
     if :: leaf != seen_leaf -> goto undo :: else fi;
#endif
#ifndef LEAF_ALONE
     if
     :: COMMIT_TS != TIME(e, 0) -> missed_until[where] = MAX(missed_until[where], COMMIT_TS)
     :: else
     fi;
#endif
#ifndef LOOKS_BEFORE_RAISING
     if :: leaf != seen_leaf -> goto undo :: else fi;
#endif
#ifdef EPOCH_BEHIND_LOOK
     if :: COMMIT_TS == TIME(e, 0) -> e = E; COMMIT_TS = TIME(e, 0) :: else fi
#endif
  fi;
  if
  :: MINE(writes, Y) -> atomic { decide() }; d_step { y_tid = COMMIT_TS; y_rts = COMMIT_TS; y_locked = false }
  :: else ->
     atomic {
       if
       :: y_rts >= COMMIT_TS && y_tid == SAW(Y) -> skip
       :: y_locked || y_tid != SAW(Y) -> goto undo
       :: else -> y_rts = COMMIT_TS
       fi;
       decide()
     }
  fi;
  goto done;
undo:
  if :: MINE(writes, Y) && FOUND(Y) != 0 -> y_locked = false :: else fi;
  d_step { SAW(X) = 0; SAW(Y) = 0; FOUND(Y) = 0; COMMIT_TS = 0 };
done:
  atomic { e_w[me] = NONE; working--; seen_leaf = 0; at = NONE; e = 0; word = 0; where = 0 }
}

#define NOT_BELOW(words) COMMIT_TS = MAX(COMMIT_TS, (words) + 1)

inline read_words() {
  atomic { words = MAX(words, missed_until[HERE]) };
#ifndef OTHER_NODES_WORDS_IGNORED
  atomic { words = MAX(words, missed_until[THERE]) }
#endif
}

proctype Inserter(byte me) {
  byte at, e, before, words;
  bool inserted, held;
  e_w[me] = E;
#ifdef FLOOR_BEFORE_INSERT
  e = E;
#endif
#ifdef WORDS_BEFORE_INSERT
  read_words();
#endif
  atomic {
    if
    :: record == NONE && born == RECORDS -> goto undo
    :: record == NONE && born < RECORDS -> put_into_leaf(); inserted = true
    :: else
    fi;
    at = record
  };
  atomic {
    if :: locked[at] || superseded[at] || present[at] -> goto undo :: else fi;
    locked[at] = true; held = true;
    FOUND(X) = key_tid
  };
  atomic { before = rts[at]; rts[at] = before | FROZEN };
#ifndef FLOOR_BEFORE_INSERT
  e = E;
#endif
#ifndef WORDS_BEFORE_INSERT
#ifdef ONLY_INSERTER_READS_WORDS
  if :: inserted -> read_words() :: else fi;
#else
  if :: tid[at] == 0 -> read_words() :: else fi;
#endif
#endif
  atomic {
    COMMIT_TS = MAX(before, tid[at]) + 1;
    NOT_BELOW(words);
    COMMIT_TS = MAX(COMMIT_TS, TIME(e, 1));
    if :: EPOCH(COMMIT_TS) > e -> goto undo :: else fi
  };
  atomic { decide(); assert(COMMIT_TS > key_tid) };
  rts[at] = COMMIT_TS;
  atomic { tid[at] = COMMIT_TS; key_tid = COMMIT_TS; present[at] = true; locked[at] = false };
  goto done;
undo:
  if :: held -> rts[at] = before; locked[at] = false :: else fi;
  d_step { FOUND(X) = 0; COMMIT_TS = 0 };
done:
  atomic { e_w[me] = NONE; working--; at = 0; e = 0; before = 0; words = 0; inserted = false; held = false }
}

/* Reads both, X if it is there; one step for each look. */
proctype Reader(byte me) {
  byte at, turn, left = BOTH, y_until, until;
  e_w[me] = E;
  do
  :: left & BIT(X) ->
     atomic {
       at = record;
       if :: at == NONE -> goto undo :: else fi;
       if :: locked[at] || superseded[at] || !present[at] -> goto undo :: else fi;
       SAW(X) = tid[at];
       left = left & ~BIT(X)
     }
  :: left & BIT(Y) ->
     atomic {
       if :: y_locked -> goto undo :: else fi;
       SAW(Y) = y_tid;
       y_until = y_rts;
       left = left & ~BIT(Y)
     }
  :: left == 0 -> break
  od;
  COMMIT_TS = MAX(TIME(e_w[me], 0), MAX(SAW(X), SAW(Y)));
  atomic {
    if
    :: y_until >= COMMIT_TS -> skip
    :: else -> if :: y_locked || y_tid != SAW(Y) -> goto undo :: else -> y_rts = MAX(y_rts, COMMIT_TS) fi
    fi
  };
  atomic {
    if :: !UNCHANGED(at) -> goto undo :: else -> rts[at] = MAX(rts[at], COMMIT_TS) fi;
    decide()
  };
  goto done;
undo: skip;
  d_step { SAW(X) = 0; SAW(Y) = 0; COMMIT_TS = 0 };
done:
  atomic { e_w[me] = NONE; working--; at = 0; left = 0; y_until = 0 }
}

proctype GivesUp() {
  atomic { !LEAF_IS_LOCKED; if :: record == NONE && born < RECORDS -> put_into_leaf() :: else fi }
}

proctype Collector() {
  byte at, before, e;
  atomic {
    at = record;
    if :: at == NONE -> goto done :: else fi;
    if :: locked[at] || present[at] -> goto done :: else fi;
    locked[at] = true
  };
#ifdef UNHOOKS_WITHOUT_FREEZE
  before = rts[at];
#else
  atomic { before = rts[at]; rts[at] = before | FROZEN };
#endif
  e = E;
  if
#ifndef UNHOOKS_ANY
  :: EPOCH(before) >= e ->
     rts[at] = before;
     locked[at] = false
#endif
  :: else ->
     record = NONE;
     atomic { superseded[at] = true; locked[at] = false }
  fi;
done: skip
}

proctype Epochs() {
  do
  :: E < LAST_EPOCH -> atomic { e_w[0] >= E && e_w[1] >= E && e_w[TRANSACTIONS - 1] >= E -> E++ }
  :: else -> break
  od
}

#ifdef REGION
#include "tictoc_phantom_region.pml"
#define run_inserter(me) run RegionInserter(me); run StoreBuffer()
#else
#define run_inserter(me) run Inserter(me)
#endif

init {
  atomic {
    if
    :: transaction(0, BIT(X), BIT(Y))
#ifndef UNHOOK
    :: transaction(0, BOTH, 0)
#endif
    fi;
    if :: asks[0] = 0 :: asks[0] = TIME(FIRST_EPOCH, 4) fi;
    transaction(1, 0, BIT(X));
    run Epochs(); run Looker(0); run_inserter(1);
#ifdef UNHOOK
    /* Deleted long ago, or never written. */
    born = 1; record = 0;
    if :: key_tid = TIME(0, 3); tid[0] = key_tid; rts[0] = key_tid :: skip fi;
    run Collector();
#elif !defined(CYCLE)
    run GivesUp();
#endif
#if TRANSACTIONS == 3
    transaction(2, BOTH, 0);
    y_rts = TIME(FIRST_EPOCH, 2);                  /* valid until then, whoever overwrites it */
    run Reader(2)
#endif
  };
  working == 0;
  d_step { judge_all() }
}
