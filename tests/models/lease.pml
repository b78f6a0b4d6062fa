/* Leases (lease_2pl): a transaction that reads X and Y under leases, beside one of another node that writes both under x-locks; with
 * -DLOCAL beside the owner of X, who writes it under the lock bit. X has a lease from before, or somebody else takes one at any
 * moment. The clock of each node is off by as much as delta from the time, which goes on at any moment, also between any two steps of a
 * transaction: a pause. E moves meanwhile.
 *
 * The reader READs a record first. That alone is a share of the lease that came with it; else it takes one, or shares the one that it
 * finds then, and READs the record under it (in the product only the header, as what was READ of that version before is the same).
 *
 * When the reader has confirmed its leases, what it read is what is there, with nobody in the middle of writing it. Whoever comes
 * later is in no earlier epoch (I7). Design: the bound holds between any two nodes, so here a pair may be off by twice as much as
 * it promises; this makes each of the two deltas count.
 *
 * Not here: the softtime word and its age; time that jumps by more than delta; crashes; a reader that also writes (its writes are under
 * x-locks as the writer's are).
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#define X 0
#define Y 1
#ifdef LOCAL
#define OTHER 0                         /* the node of who writes */
#else
#define OTHER 1
#endif
#define READER 2

#define DELTA 2
#define LENGTH 4
#define LAST_TIME 4
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* The state word: free, a lease that ends at n - 2, or an x-lock. */
#define FREE 0
#define X_LOCK 1
#define LEASE(end) ((end) + 2)
#define END(word) ((word) - 2)
#define IS_LEASE(word) ((word) > X_LOCK)

byte time = 0;
byte ahead[3];                          /* of a clock, plus DELTA; so now is never negative */
#define NOW(node) (time + ahead[node])

#ifdef EXPIRED_WITHOUT_DELTA
#define EXPIRED(word, node) (NOW(node) > END(word))
#else
#define EXPIRED(word, node) (NOW(node) > END(word) + DELTA)
#endif
#ifdef VALID_WITHOUT_DELTA
#define VALID(end, node) (NOW(node) < end)
#else
#define VALID(end, node) (NOW(node) + DELTA < end)
#endif

byte state[2];
bool mark[2];
byte version[2];
byte E[3];
byte working = 2;

byte reader_e, other_e;
byte saw[2];
bool reader_done, other_done;

proctype Time() {
  do :: working > 0 && time < LAST_TIME -> time++ :: break od
}

proctype Leader() {
  byte left = 7;
  do
  :: left & 1 -> E[0] = 1; left = left & 6
  :: left & 2 -> E[1] = 1; left = left & 5
  :: left & 4 -> E[2] = 1; left = left & 3
  :: left == 0 || working == 0 -> break
  od
}

inline look_at_epochs(node) {
  e = MAX(e, E[X]);
  e = MAX(e, E[Y]);
  e = MAX(e, E[node])
}

inline look_at_record(r) { atomic { saw[r] = version[r]; busy = mark[r] } }

/* One READ: state and version are of one moment (I4). */
inline read_first(r) {
#ifdef SHARES_A_LATER_LEASE
  look_at_record(r);
  found = state[r];
#else
  atomic { look_at_record(r); found = state[r] };
#endif
#ifdef SHARES_A_LOCKED_RECORD
  shared = IS_LEASE(found)
#else
  shared = IS_LEASE(found) && !busy
#endif
}

/* Fewer states. */
inline forget() { found = FREE; busy = false; shared = false; goto_read = false }

inline hold(r) {
  read_first(r);
  if
  :: atomic { shared -> end = (end < END(found) -> end : END(found)); forget() }
  :: else -> lease(r)
  fi
}

/* From free or expired to ours; a lease that has not expired is shared. Then the header: a lock bit may be rightful. */
inline lease(r) {
  atomic {
    found = state[r];
    if
    :: found == FREE -> state[r] = LEASE(end); goto_read = true
    :: found == X_LOCK -> goto undo
    :: else -> goto_read = false
    fi
  };
  if
  :: goto_read -> skip
  :: else ->
     if
     :: EXPIRED(found, READER) ->
        atomic { if :: state[r] == found -> state[r] = LEASE(end) :: else -> goto undo fi }
     :: else -> end = (end < END(found) -> end : END(found))
     fi
  fi;
#ifndef READ_BEFORE_LEASE
  look_at_record(r);
#endif
#ifdef IGNORE_LOCK_BIT
  atomic { forget() }
#else
  if :: busy -> goto undo :: atomic { else -> forget() } fi
#endif
}

proctype Reader() {
  byte e = 0, end, found;
  bool goto_read, busy, shared;
  end = NOW(READER) + LENGTH;
#ifdef EPOCH_BEFORE_LEASES
  look_at_epochs(READER);
#endif
  hold(X);
#ifdef CONFIRMS_EARLY
  if :: !VALID(end, READER) -> goto undo :: else fi;
#endif
  hold(Y);
#ifndef EPOCH_BEFORE_LEASES
  look_at_epochs(READER);
#endif
#ifndef NO_WAIT
  E[X] >= e && E[Y] >= e && E[READER] >= e;
#endif
  atomic {
#ifndef CONFIRMS_EARLY
    if :: !VALID(end, READER) -> goto undo :: else fi;
#endif
    assert(saw[X] == version[X] && saw[Y] == version[Y]);
    assert(state[X] != X_LOCK && state[Y] != X_LOCK);
    reader_done = true;
    reader_e = e
  };
undo:
  working--
}

/* Another reader, of whom nothing counts but its lease. */
proctype Another() {
  atomic {
    if
    :: state[X] == FREE -> state[X] = LEASE(LENGTH)
    :: else
    fi
  }
}

#ifdef LOCAL
#define FREE_FOR_OWNER (found == FREE || (IS_LEASE(found) && EXPIRED(found, OTHER)))

proctype Other() {
  byte e, found;
#ifdef OWNER_LOOKS_EARLY
  found = state[X];
#endif
  mark[X] = true;                       /* a CAS; there is nobody else to take it */
#ifndef OWNER_LOOKS_EARLY
  found = state[X];
#endif
#ifndef OWNER_IGNORES_LEASE
  if :: !FREE_FOR_OWNER -> mark[X] = false; goto done :: else fi;
#endif
  e = E[X];
  atomic { other_done = true; other_e = e; version[X]++; mark[X] = false };
done:
  working--
}
#else
/* The chain: CAS, header. */
inline x_lock(r) {
  atomic {
    found = state[r];
    if
    :: found == FREE -> state[r] = X_LOCK; held = held + 1 + r
    :: else
    fi
  };
  if
  :: IS_LEASE(found) ->
#ifndef WRITER_IGNORES_LEASE
     if :: !EXPIRED(found, OTHER) -> goto undo :: else fi;
#endif
     atomic { if :: state[r] == found -> state[r] = X_LOCK; held = held + 1 + r :: else -> goto undo fi }
  :: else
  fi
}

inline write_back(r) {
  version[r]++;
  state[r] = FREE
}

proctype Other() {
  byte e = 0, held = 0, found;
  x_lock(X);
  x_lock(Y);
  look_at_epochs(OTHER);
#ifndef NO_WAIT
  E[X] >= e && E[Y] >= e && E[OTHER] >= e;
#endif
  atomic { other_done = true; other_e = e };
  write_back(X);
  write_back(Y);
  goto done;
undo:
  if :: held & 1 -> state[X] = FREE :: else fi;
  if :: held & 2 -> state[Y] = FREE :: else fi;
done:
  working--
}
#endif

init {
  atomic {
    if :: ahead[READER] = 0 :: ahead[READER] = 2 * DELTA fi;
    if :: ahead[OTHER] = 0 :: ahead[OTHER] = 2 * DELTA fi;
    run Time(); run Leader(); run Reader(); run Other();
    if :: state[X] = LEASE(3) :: run Another() fi
  };
  working == 0;
  d_step {
    assert(!(reader_done && other_done) || (saw[X] == 0 -> reader_e <= other_e : other_e <= reader_e));
#ifndef LOCAL
    assert(!(reader_done && other_done) || saw[X] == saw[Y]);
#endif
    assert(!mark[X] && state[X] != X_LOCK && state[Y] != X_LOCK)
  }
}
