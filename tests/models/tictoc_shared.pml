/* TicToc on one shared record, whose rts is the greatest of three: the state word's, which other nodes raise by CAS; the owner's word,
 * which only CPUs of the owner change; and the wts. Neither side's atomics see the other's (I2), so each side raises its own word first
 * and looks at the other side's lock afterwards. A reader needs the version that it read up to a time that its other accesses ask for.
 *
 * The judge is in tictoc_judge.pml. Besides, nobody is in between when a version is installed, and at the end nobody is left
 * holding the record.
 *
 *   (nothing)   any three of: a reader and a writer at the owner, a reader and a writer of another node; in one epoch, beside a reader
 *               at the owner that raises the rts in vain
 *   -DEPOCHS    a reader and a writer, each at either node, while E moves, at one node after the other. Nothing of an epoch up to D
 *               commits any more
 *   -DDEATH     while E moves, a reader of another node and a writer at the owner, beside a writer of another node that dies with the
 *               lock; whoever recovers it does not know the rts under it
 *   -DREGION    three of the four, of which those at the owner commit with locks or in an HTM region (tictoc_shared_region.pml)
 *   -DWHOLE     all four
 *
 * Not here: an rts word that wraps around, for both words have room for a whole time; values and torn READs (shared_record.pml); a whole
 * transaction (commit.pml); lost connections; how a dead node is cut off (recovery.pml). A CAS that meets another rts than expected is
 * tried again, which is one step here. The owner's word is not frozen: whoever raises it looks at the lock bit afterwards.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#ifdef DEATH
#define EPOCHS
#define LAST_EPOCH 3
#else
#define LAST_EPOCH 2
#endif
#ifdef WHOLE
#define TRANSACTIONS 4
#elif defined(EPOCHS) && !defined(DEATH)
#define TRANSACTIONS 2
#else
#define TRANSACTIONS 3
#endif
#define FIRST_EPOCH 1
#define OWNER 0
#define OTHER 1
#include "tictoc_judge.pml"

/* The state word: 0 | rts, or an x-lock. */
#define X_LOCK 128
#define X_LOCKED(word) ((word) >= X_LOCK)
byte state = TIME(0, 2);
byte owner_rts = TIME(0, 2);
byte tid = TIME(0, 1);
bool mark;                                        /* the lock bit: one word with the TID */

byte E[2] = FIRST_EPOCH;                          /* of the owner, and of the other node */
byte D = 0;
byte e_w[TRANSACTIONS] = NONE;
byte working = TRANSACTIONS;

#ifdef EPOCHS
/* E + 1 when every e_w has reached E; node by node. */
proctype Leader() {
  byte now = FIRST_EPOCH, left;
  do
  :: atomic {
       e_w[0] >= now && e_w[1] >= now && e_w[TRANSACTIONS - 1] >= now;
       D = now - 1;
       if :: now == LAST_EPOCH -> break :: else fi;
       now++;
       left = 3
     };
     do
     :: left & 1 -> E[0] = now; left = left & 2
     :: left & 2 -> E[1] = now; left = left & 1
     :: left == 0 -> break
     od
  od
}
#define look_at_epoch(node) e = MAX(e, E[node])
#define agree_here() E[OWNER] >= e
#define agree() E[OWNER] >= e && E[OTHER] >= e
#else
#define look_at_epoch(node) e = FIRST_EPOCH
#define agree_here() skip
#define agree() skip
#endif

inline begin(node) { e_w[me] = E[node] }           /* until it is E again, so as good as one step (I13) */
inline decide() {
  assert(EPOCH(COMMIT_TS) > D);
  committed[me] = true
}
inline end() { atomic { e_w[me] = NONE; working--; e = 0; seen = 0; word = 0 } }

inline look_at_tid() { atomic { if :: mark || tid != SAW(X) -> goto undo :: else fi } }
inline look_at_state() { if :: X_LOCKED(state) -> goto undo :: else fi }

/* What is unlocked when E is e is valid up to then, without a word written. */
#define IMPLICIT (COMMIT_TS <= TIME(e, 0))
#ifndef EPOCHS
#undef IMPLICIT
#define IMPLICIT false
#endif
/* Up to where it is known to be valid, by those of the words which the reader may believe. */
#define ENOUGH(known) (!IMPLICIT && MAX(known, SAW(X)) >= COMMIT_TS)

proctype OwnerReader(byte me) {
  byte e, seen, word;
  begin(OWNER);
  /* TID, state, rts, state, TID. */
  atomic { if :: mark -> goto undo :: else -> SAW(X) = tid fi };
  seen = state;
  word = owner_rts;
#ifndef OWNER_BELIEVES_UNDER_LOCK
  if :: X_LOCKED(seen) -> word = 0 :: else fi;      /* the holder has yet to clear it */
#endif
  if :: X_LOCKED(seen) -> seen = 0 :: else fi;
  look_at_state();                                  /* or the reader waits, which is this step later */
  look_at_tid();

  look_at_epoch(OWNER);
#ifdef EPOCHS
  atomic { e = MAX(e, EPOCH(asks[me])) };
#endif
  agree_here();
  COMMIT_TS = MAX(asks[me], SAW(X));
  if
  :: ENOUGH(MAX(seen, word)) -> skip
  :: else ->
     if
     :: IMPLICIT -> COMMIT_TS = TIME(e, 0)
     :: else ->
#ifndef OWNER_LOOKS_BEFORE_RAISING
        owner_rts = MAX(owner_rts, COMMIT_TS)
#endif
     fi;
#ifdef OWNER_LOOKS_AT_TID_FIRST
     look_at_tid();
     look_at_state();
#else
#ifndef OWNER_IGNORES_STATE
     look_at_state();
#endif
#ifndef OWNER_IGNORES_TID
     look_at_tid();
#endif
#endif
#ifdef OWNER_LOOKS_BEFORE_RAISING
     if :: COMMIT_TS > owner_rts -> owner_rts = MAX(owner_rts, COMMIT_TS) :: else fi
#endif
  fi;
  atomic { decide() };
  goto done;
undo: SAW(X) = 0;
done: end()
}

proctype OtherReader(byte me) {
  byte e, seen, word;
  begin(OTHER);
  /* One READ: the state no later than the TID (I4). */
#ifdef TID_BEFORE_STATE
  atomic { if :: mark -> goto undo :: else -> SAW(X) = tid fi };
#endif
  atomic { look_at_state(); seen = state };
#ifdef BELIEVES_OWNER
  word = owner_rts;
#endif
#ifndef TID_BEFORE_STATE
  atomic { if :: mark -> goto undo :: else -> SAW(X) = tid fi };
#endif

  look_at_epoch(OTHER);
#if !defined(EPOCH_BEHIND_HEADER) && !defined(IMPLICIT_OF_OWN_EPOCH)
  look_at_epoch(OWNER);
#endif
#ifdef EPOCHS
  atomic { e = MAX(e, EPOCH(asks[me])) };
#endif
  COMMIT_TS = MAX(asks[me], SAW(X));
#if defined(RAISES_BEYOND_EPOCH)
  if :: IMPLICIT -> agree() :: else fi;
#elif !defined(IMPLICIT_OF_OWN_EPOCH)
  agree();
#endif
  if
  :: ENOUGH(MAX(seen, word)) -> goto valid
  :: else
  fi;
  if
  :: IMPLICIT ->
     look_at_state();
     look_at_tid();
#ifdef EPOCH_BEHIND_HEADER
     look_at_epoch(OWNER);
#endif
     COMMIT_TS = TIME(e, 0)
  :: else ->
     /* A chain: CAS of the state, READ of the header. */
#ifdef HEADER_BEFORE_RAISING
     look_at_tid();
#endif
     atomic { look_at_state(); state = MAX(state, COMMIT_TS) };
#if defined(EXTENDS_A_LOCKED_RECORD)
     if :: tid != SAW(X) -> goto undo :: else fi
#elif !defined(EXTENDS_WITHOUT_HEADER) && !defined(HEADER_BEFORE_RAISING)
     look_at_tid()
#endif
  fi;
valid:
  atomic { decide() };
  goto done;
undo: SAW(X) = 0; COMMIT_TS = 0;
done: end()
}

#if defined(WRITER_TAKES_STATE_ONLY)
#define RTS seen
#elif defined(WRITER_TAKES_OWNER_ONLY)
#define RTS word
#else
#define RTS MAX(seen, word)
#endif
#ifdef EPOCHS
#define FLOOR TIME(e, 1)
#else
#define FLOOR TIME(FIRST_EPOCH, 1)
#endif

inline choose_commit_ts() {
  atomic {
    COMMIT_TS = MAX(RTS, FOUND(X)) + 1;
    COMMIT_TS = MAX(COMMIT_TS, FLOOR);
    if :: EPOCH(COMMIT_TS) > e -> goto undo :: else fi
  }
}
inline new_version() {
  assert(tid == FOUND(X) && tid < COMMIT_TS);
  tid = COMMIT_TS;
  mark = false
}

proctype OwnerWriter(byte me) {
  byte e, seen, word;
  bool held;
  begin(OWNER);
#ifdef OWNER_LOOKS_EARLY
  seen = state;
#endif
  atomic { if :: mark -> goto undo :: else -> mark = true; FOUND(X) = tid; held = true fi };
#ifndef OWNER_LOOKS_EARLY
  seen = state;
#endif
  if :: X_LOCKED(seen) -> goto undo :: else fi;
  if :: !mark || tid != FOUND(X) -> held = false; goto undo :: else fi;
  word = owner_rts;
  look_at_epoch(OWNER);
  agree_here();
  choose_commit_ts();
  atomic { decide() };
  if :: owner_rts = COMMIT_TS :: skip fi;           /* either will do, as the wts counts as well */
  atomic { new_version() };
  goto done;
undo:
  atomic { if :: held && mark && tid == FOUND(X) -> mark = false :: else fi };
  d_step { FOUND(X) = 0; COMMIT_TS = 0; held = false };
done: end()
}

inline x_lock() {
  atomic { if :: X_LOCKED(state) -> goto undo :: else -> seen = state; state = X_LOCK + me; held = true fi }
}

proctype OtherWriter(byte me) {
  byte e, seen, word;
  bool held, busy;
  begin(OTHER);
#ifdef FLOOR_BEFORE_LOCK
  look_at_epoch(OWNER);
#endif
#ifdef HEADER_BEFORE_LOCK
  word = owner_rts;
#endif
  x_lock();
  /* The header: a lock bit may be rightful. */
#ifndef HEADER_BEFORE_LOCK
  word = owner_rts;
#endif
  atomic { FOUND(X) = tid; busy = mark };
  if :: busy -> goto undo :: else fi;
#if !defined(FLOOR_BEFORE_LOCK) && !defined(FLOOR_OF_OWN_EPOCH)
  look_at_epoch(OWNER);
#endif
#ifndef FLOOR_OF_WRITTEN_NODE
  look_at_epoch(OTHER);
  agree();
#endif
  choose_commit_ts();
  if :: skip :: goto undo fi;                       /* for another reason */
  atomic { decide() };
  atomic { new_version() };
  owner_rts = 0;                                    /* one WRITE, whose bytes come one after the other */
  if :: state = 0 :: state = COMMIT_TS fi;          /* either will do */
  goto done;
undo:
#ifdef ABORT_LEAVES_ZERO
  if :: held -> state = 0 :: else fi;
#else
  if :: held -> state = seen :: else fi;
#endif
  d_step { FOUND(X) = 0; COMMIT_TS = 0; held = false; busy = false };
done: end()
}

/* A reader at the owner that raises the rts and then finds the record locked or changed, so that it gives up. */
proctype Straggler() { owner_rts = MAX(owner_rts, TIME(FIRST_EPOCH, 4)) }

#ifdef DEATH
#ifdef EPOCH_PASSES_ELSEWHERE
#define CLOCK OTHER
#else
#define CLOCK OWNER
#endif
/* The writer dies with the lock; whoever recovers it frees the record when an epoch has passed there. */
proctype Dead(byte me) {
  byte seen, e, word;
  bool held;
  x_lock();
  e = E[CLOCK];
  if :: e == LAST_EPOCH -> goto done :: else fi;    /* stays locked */
#ifndef RELEASES_AT_ONCE
  E[CLOCK] > e;
#endif
  state = 0;
undo:
done: end()
}
#endif

#ifdef REGION
#include "tictoc_shared_region.pml"
#define run_owner_reader(me) if :: run OwnerReader(me) :: run RegionReader(me) fi
#define run_owner_writer(me) if :: run OwnerWriter(me) :: run RegionWriter(me) fi
#else
#define run_owner_reader(me) run OwnerReader(me)
#define run_owner_writer(me) run OwnerWriter(me)
#endif

init {
  byte left_out;
  atomic {
#ifdef EPOCHS
    run Leader();
    reads[0] = BIT(X); writes[1] = BIT(X);
#ifdef DEATH
    if :: asks[0] = TIME(FIRST_EPOCH, 4) :: asks[0] = TIME(FIRST_EPOCH + 1, 4) fi;
    run OtherReader(0); run_owner_writer(1); run Dead(2)
#else
    if :: asks[0] = 0 :: asks[0] = TIME(FIRST_EPOCH, 4) :: asks[0] = TIME(FIRST_EPOCH + 1, 4) fi;
    if :: run_owner_reader(0) :: run OtherReader(0) fi;
    if :: run_owner_writer(1) :: run OtherWriter(1) fi
#endif
#else
#ifdef WHOLE
    left_out = NONE;
#else
    if :: left_out = 0 :: left_out = 1 :: left_out = 2 :: left_out = 3 fi;
#endif
    byte me = 0;
    run Straggler();
    if :: left_out != 0 -> reads[me] = BIT(X); asks[me] = TIME(FIRST_EPOCH, 3); run_owner_reader(me); me++ :: else fi;
    if
    :: left_out != 1 ->
       reads[me] = BIT(X);
       if :: asks[me] = TIME(FIRST_EPOCH, 3) :: asks[me] = TIME(FIRST_EPOCH, 5) fi;
       run OtherReader(me); me++
    :: else
    fi;
    if :: left_out != 2 -> writes[me] = BIT(X); run_owner_writer(me); me++ :: else fi;
    if :: left_out != 3 -> writes[me] = BIT(X); run OtherWriter(me) :: else fi
#endif
  };
  working == 0;
  d_step {
    judge_all();
    assert(!mark);
#ifndef DEATH
    assert(!X_LOCKED(state))
#endif
  }
}
