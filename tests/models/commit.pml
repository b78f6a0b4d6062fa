/* A commit across nodes, whole: x-locks by CAS beside owners' lock bits (I2), the epoch of the transaction (I7), validation, write-back
 * (I5) and e_w (I13), with a leader that raises E node by node. Record X is node 0's, record Y node 1's. init chooses the
 * transactions' nodes and what they read and write.
 *
 * At the end the committed transactions have a serial order, and whoever comes later in it, by dependency or anti-dependency,
 * is in no earlier epoch: what is kept of the epochs up to any D then lacks nothing that it rests on. Meanwhile no transaction of an
 * epoch up to D is still under way, or yet to commit, when the leader makes D known.
 *
 *   (nothing)   two writers and a reader, in one epoch
 *   -DEPOCHS    two transactions while E moves
 *   -DREGION    the same, their local part being an HTM region, with no lock before it
 *   -DWHOLE     two writers and a reader while E moves
 *   -DLEASES    both protocols on the same records, in one epoch: a transaction that declares what it reads (lease_2pl) and holds it
 *               under leases, beside an optimistic one, and somebody else who takes a lease of either record at any moment
 *
 * Not here: values and torn READs, which shared_record.pml has; how nodes tell the time that leases are judged by, and epochs beside
 * leases, which lease.pml has: here there is one clock, and at a lease's end a moment when it is neither valid nor expired; messages;
 * crashes and a change of leader; several chains of one transaction under way at once; cycles of three transactions over three records.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#define X 0
#define Y 1
#define BIT(r) (1 << (r))
#define ALL 3
#ifdef REGION
#define EPOCHS
#endif
#if defined(EPOCHS) || defined(LEASES)
#define TRANSACTIONS 2
#else
#define TRANSACTIONS 3
#endif
#if defined(EPOCHS) || defined(WHOLE)
#define LAST_EPOCH 1
#else
#define LAST_EPOCH 0
#endif
#define NONE 255
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define LOCAL(r) ((r) == home)

/* The state word: free, an x-lock (whose?), or a lease that ends at n - FIRST_LEASE. */
#ifdef LEASES
#define FIRST_LEASE 16
#define LENGTH 1
#define LAST_TIME 2
byte time;
byte leases[TRANSACTIONS];                        /* what is declared to be read; else none is */
#define LEASE (FIRST_LEASE + time + LENGTH)
#define END(word) ((word) - FIRST_LEASE)
#define IS_LEASE(word) ((word) >= FIRST_LEASE)
#define UNTAKEN(word) ((word) == 0 || (IS_LEASE(word) && time > END(word)))
#define X_LOCKED(word) ((word) != 0 && !IS_LEASE(word))
#else
#define UNTAKEN(word) ((word) == 0)
#define X_LOCKED(word) ((word) != 0)
#endif
#ifdef WRITER_IGNORES_LEASE
#define FREE_FOR_WRITER(word) (!X_LOCKED(word))
#else
#define FREE_FOR_WRITER(word) UNTAKEN(word)
#endif
#ifdef OWNER_IGNORES_LEASE
#define FREE_FOR_OWNER(word) (!X_LOCKED(word))
#else
#define FREE_FOR_OWNER(word) UNTAKEN(word)
#endif

/* The records: the state word, and the TID word with its lock bit, version (for the sequence) and epoch. */
byte state[2];
bool mark[2];
byte version[2], epoch[2];

byte E[3];
byte D = NONE;                                    /* none yet */
byte e_w[TRANSACTIONS];                           /* NONE: no transaction is open */
byte working = TRANSACTIONS;

/* Of each transaction, for the judge. */
byte saw[TRANSACTIONS * 2], wrote[TRANSACTIONS * 2]; /* versions */
byte reads[TRANSACTIONS], writes[TRANSACTIONS];
byte e_of[TRANSACTIONS];
bool committed[TRANSACTIONS], on_its_way[TRANSACTIONS];

#define SAW(r) saw[me * 2 + (r)]
#define FOUND(r) wrote[me * 2 + (r)]               /* under the lock; then what is written */

#define under_way(t) (on_its_way[t] && e_of[t] <= D)

/* E + 1 when every e_w has reached E. The WRITEs to the nodes land one by one. */
proctype Leader() {
  byte now = 0, left;
  do
  :: working > 0 ->
     atomic {
       e_w[0] >= now && e_w[1] >= now && e_w[TRANSACTIONS - 1] >= now;
       if
       :: now > 0 ->
          D = now - 1;
          assert(!under_way(0) && !under_way(1) && !under_way(TRANSACTIONS - 1))
       :: else
       fi;
       if :: now == LAST_EPOCH -> goto done :: else fi;
       now++;
       left = 7
     };
     do
     :: left & 1 -> E[0] = now; left = left & 6
     :: left & 2 -> E[1] = now; left = left & 5
     :: left & 4 -> E[2] = now; left = left & 3
     :: left == 0 -> break
     od
  :: break
  od;
done: skip
}

/* A READ that finds the record locked is repeated: as good as one that comes later. */
inline read(r) {
  atomic { !X_LOCKED(state[r]) && !mark[r] -> SAW(r) = version[r]; e = MAX(e, epoch[r]) }
}

#ifdef LEASES
/* From free or expired to ours; one that has not expired is shared, or left alone where it would end too soon: then what is read is
 * validated like any other. The header behind it: a lock bit may be rightful. */
inline lease(r) {
#ifdef READ_BEFORE_LEASE
  atomic { SAW(r) = version[r]; busy = mark[r] };
#endif
  atomic {
    if
    :: UNTAKEN(state[r]) -> state[r] = LEASE; leased = leased | BIT(r)
    :: IS_LEASE(state[r]) && !UNTAKEN(state[r]) -> leased = leased | BIT(r)
    :: IS_LEASE(state[r]) && !UNTAKEN(state[r])
    :: X_LOCKED(state[r]) -> goto undo
    fi;
    if :: leased & BIT(r) -> end = (end < END(state[r]) -> end : END(state[r])) :: else fi
  };
#ifndef READ_BEFORE_LEASE
  atomic { SAW(r) = version[r]; busy = mark[r] };
#endif
#ifndef IGNORE_LOCK_BIT
  if :: busy -> busy = false; goto undo :: else fi
#endif
}
#define LEASED(r) ((leased & BIT(r)) != 0)
#define confirm_leases() if :: leased && time >= end -> goto undo :: else fi
#define READS_BY_LEASE(r) (!LOCAL(r) && MINE(leases, r))
#else
#define LEASED(r) false
#endif

#ifdef LEASES
inline look_at_epoch(node) { skip }                /* there is one */
#else
inline look_at_epoch(node) { e = MAX(e, E[node]) }
#endif

/* CAS, header, epoch. A lock bit is of an owner who may hold the record rightfully: let go. (Looking again is as good as
 * looking later.) */
inline lock_remotely(r) {
#ifdef EPOCH_BEFORE_LOCK
  look_at_epoch(r);
#endif
#ifdef HEADER_BEFORE_LOCK
  atomic { FOUND(r) = version[r]; busy = mark[r] };
#endif
  atomic { if :: FREE_FOR_WRITER(state[r]) -> state[r] = me + 1; held = held | BIT(r) :: else -> goto undo fi };
#ifndef HEADER_BEFORE_LOCK
  atomic { FOUND(r) = version[r]; e = MAX(e, epoch[r]); busy = mark[r] };
#endif
#ifndef IGNORE_LOCK_BIT
  if :: busy -> busy = false; goto undo :: else fi;
#endif
#ifndef EPOCH_BEFORE_LOCK
  look_at_epoch(r)
#endif
}

/* The owner's rule: the bit, then the state, then the TID word once more. */
inline lock_as_owner(r) {
  atomic {
    if
    :: !mark[r] -> mark[r] = true; FOUND(r) = version[r]; e = MAX(e, epoch[r]); held = held | BIT(r)
    :: else -> goto undo
    fi
  };
#ifndef OWNER_IGNORES_STATE
  if :: !FREE_FOR_OWNER(state[r]) -> goto undo :: else fi;
#endif
#ifndef OWNER_LOOKS_ONCE
  if :: !mark[r] || version[r] != FOUND(r) -> held = held & ~BIT(r); goto undo :: else fi
#endif
}

#ifdef VALIDATOR_TRUSTS_LEASE
#define CHANGED(r) (!IS_LEASE(state[r]) && version[r] != SAW(r))
#else
#define CHANGED(r) (version[r] != SAW(r))
#endif

/* State before TID word (I4). An own lock is none, and what is under it is known. */
inline validate(r) {
  if
  :: held & BIT(r) -> if :: FOUND(r) != SAW(r) -> goto undo :: else fi
  :: else ->
#ifdef TID_BEFORE_STATE
     atomic { if :: version[r] != SAW(r) || mark[r] -> goto undo :: else fi };
     if :: X_LOCKED(state[r]) -> goto undo :: else fi
#else
#ifndef VALIDATES_TID_ONLY
     if :: X_LOCKED(state[r]) -> goto undo :: else fi;
#endif
     atomic { if :: CHANGED(r) || mark[r] -> goto undo :: else fi }
#endif
  fi
}

inline give_back(r) {
  if
  :: !(held & BIT(r)) -> skip
  :: else ->
#ifndef REGION
     if
     :: LOCAL(r) -> atomic { if :: mark[r] && version[r] == FOUND(r) -> mark[r] = false :: else fi }
     :: else -> state[r] = 0
     fi
#else
     state[r] = 0
#endif
  fi
}

inline new_version(r) {
  assert(version[r] == FOUND(r) && epoch[r] <= e);   /* nobody was in between; TIDs increase (I1) */
  version[r] = FOUND(r) + 1;
  epoch[r] = e;
  mark[r] = false
}

inline write_back(r) {
#ifdef UNLOCK_BEFORE_WRITE_BACK
  state[r] = 0;
  atomic { new_version(r) }
#else
  atomic { new_version(r) };
  state[r] = 0
#endif
}

inline decide() {
  e_of[me] = e;
  committed[me] = true;
  on_its_way[me] = true;
  assert(D == NONE || e > D)
}

#define touched ((reads[me] | writes[me]) | BIT(home))
#define late(node) ((touched & BIT(node)) && E[node] < e)
#define MINE(set, r) ((set[me] & BIT(r)) != 0)

#ifdef REGION
/* What is local is neither locked nor validated before the region; what is remote and read is held like what is written. */
#define VALIDATED(r) (!LOCAL(r))
#ifdef REMOTE_READS_NOT_HELD
#define HELD(r) (!LOCAL(r) && MINE(writes, r))
#else
#define HELD(r) (!LOCAL(r) && (MINE(writes, r) || MINE(reads, r)))
#endif
#else
#ifdef UNLEASED_NOT_VALIDATED
#define VALIDATED(r) (!READS_BY_LEASE(r))
#else
#define VALIDATED(r) (!LEASED(r))
#endif
#define HELD(r) (!LOCAL(r) && MINE(writes, r))
#endif

inline validate_all() {
  if :: MINE(reads, X) && VALIDATED(X) -> validate(X) :: else fi;
  if :: MINE(reads, Y) && VALIDATED(Y) -> validate(Y) :: else fi
}

proctype Transaction(byte me; byte home) {
  byte e = 0, held = 0;
  bool busy;
#ifdef LEASES
  byte leased = 0, end = NONE;
#endif
#ifndef LEASES
  e_w[me] = E[home];                                 /* until it is E again, so as good as one step (I13) */
#endif

#ifdef LEASES
  if :: READS_BY_LEASE(X) -> lease(X) :: else fi;
  if :: READS_BY_LEASE(Y) -> lease(Y) :: else fi;
  if :: MINE(reads, X) && !READS_BY_LEASE(X) -> read(X) :: else fi;
  if :: MINE(reads, Y) && !READS_BY_LEASE(Y) -> read(Y) :: else fi;
#else
  if :: MINE(reads, X) -> read(X) :: else fi;
  if :: MINE(reads, Y) -> read(Y) :: else fi;
#endif
#ifdef CONFIRMS_EARLY
  confirm_leases();
#endif
#ifdef VALIDATION_BEFORE_LOCKS
  look_at_epoch(home);
  validate_all();
#endif

  /* 1 */
  if :: HELD(X) -> lock_remotely(X) :: else fi;
  if :: HELD(Y) -> lock_remotely(Y) :: else fi;
#ifndef REGION
  if
  :: home < 2 && MINE(writes, home) -> lock_as_owner(home)
  :: else
  fi;
#endif

  /* 2: where nothing was locked, E of any moment before the wait will do. */
  look_at_epoch(home);
  if :: !LOCAL(X) && MINE(reads, X) -> look_at_epoch(X) :: else fi;
  if :: !LOCAL(Y) && MINE(reads, Y) -> look_at_epoch(Y) :: else fi;
#if !defined(NO_WAIT) && !defined(LEASES)
  !(late(0) || late(1) || late(2));
#endif
#ifndef VALIDATION_BEFORE_LOCKS
  validate_all();
#endif
#if defined(LEASES) && !defined(CONFIRMS_EARLY)
  confirm_leases();
#endif

  /* 3 */
#ifdef REGION
  atomic {
#ifndef REGION_IGNORES_EPOCH
    if :: E[home] != e -> goto undo :: else fi;
#endif
    if
    :: home < 2 && MINE(reads, home) && (mark[home] || state[home] != 0 || version[home] != SAW(home)) -> goto undo
    :: home < 2 && MINE(writes, home) && (mark[home] || state[home] != 0 || epoch[home] > e) -> goto undo
    :: else
    fi;
    decide();
    if :: home < 2 && MINE(writes, home) -> FOUND(home) = version[home]; new_version(home) :: else fi
  };
#else
  atomic {
    decide();
#ifdef E_W_ENDS_EARLY
    e_w[me] = NONE
#endif
  };
  if :: home < 2 && MINE(writes, home) -> atomic { new_version(home) } :: else fi;
#endif

  /* 4 */
  if
  :: !LOCAL(X) && MINE(writes, X) -> write_back(X)
  :: else -> if :: !LOCAL(X) -> give_back(X) :: else fi
  fi;
  if
  :: !LOCAL(Y) && MINE(writes, Y) -> write_back(Y)
  :: else -> if :: !LOCAL(Y) -> give_back(Y) :: else fi
  fi;
  on_its_way[me] = false;
  goto done;

undo:
  give_back(X);
  give_back(Y);
  d_step { SAW(X) = 0; SAW(Y) = 0; FOUND(X) = 0; FOUND(Y) = 0 };
done:
  atomic { e_w[me] = NONE; working--; e = 0; held = 0; busy = false }
}

#ifdef LEASES
proctype Time() {
  do :: working > 0 && time < LAST_TIME -> time++ :: break od
}

/* Another reader, of whom nothing counts but its lease. */
proctype Another() {
  byte r;
  if :: r = X :: r = Y fi;
  atomic { if :: UNTAKEN(state[r]) -> state[r] = LEASE :: else fi }
}
#endif

/* Whether a comes before b, by what they did to r. What b wrote is the version after the one that it found. */
#define ORDER(a, b, r) \
  ((writes[a] & BIT(r)) && (writes[b] & BIT(r)) && wrote[a * 2 + r] < wrote[b * 2 + r]) || \
  ((writes[a] & BIT(r)) && (reads[b] & BIT(r)) && wrote[a * 2 + r] < saw[b * 2 + r]) || \
  ((reads[a] & BIT(r)) && (writes[b] & BIT(r)) && saw[a * 2 + r] <= wrote[b * 2 + r])
#define BEFORE(a, b) (committed[a] && committed[b] && (ORDER(a, b, X) || ORDER(a, b, Y)))

inline judge(a, b) {
  assert(!(BEFORE(a, b) && BEFORE(b, a)));
  assert(!BEFORE(a, b) || e_of[a] <= e_of[b]);
  assert(!BEFORE(b, a) || e_of[b] <= e_of[a])
}

#define transaction(t, what_it_reads, what_it_writes) reads[t] = what_it_reads; writes[t] = what_it_writes

init {
  byte first = 0, second = 1;
  atomic {
    e_w[0] = NONE; e_w[1] = NONE; e_w[TRANSACTIONS - 1] = NONE;
#ifdef EPOCHS
    if
    :: transaction(0, BIT(X), BIT(Y))
    :: transaction(0, ALL, 0)
    :: transaction(0, BIT(X), 0)
    fi;
    if
    :: transaction(1, BIT(Y), BIT(X))
    :: transaction(1, 0, BIT(X))
    fi;
    if :: first = 0 :: first = 1 fi;
    if :: second = 0 :: second = 2 fi;
#elif defined(LEASES)
    if
    :: transaction(0, ALL, 0); leases[0] = ALL
    :: transaction(0, ALL, 0); leases[0] = BIT(X)
    :: transaction(0, BIT(X), BIT(Y)); leases[0] = BIT(X)
    fi;
    if
    :: transaction(1, BIT(Y), BIT(X))
    :: transaction(1, 0, ALL)
    fi;
    if :: first = 1 :: first = 2 fi;
    if :: second = 0 :: second = 2 fi;
    run Time(); run Another();
#else
    if
    :: transaction(0, ALL, ALL); transaction(1, 0, ALL)
    :: transaction(0, BIT(X), BIT(Y)); transaction(1, BIT(Y), BIT(X))
    fi;
    transaction(2, ALL, 0);
#ifdef WHOLE
    second = 2;
#endif
    run Transaction(2, 2);
#endif
#ifndef LEASES
    run Leader();
#endif
    run Transaction(0, first); run Transaction(1, second)
  };
  working == 0;
  d_step {
    judge(0, 1);
#if TRANSACTIONS == 3
    judge(0, 2);
    judge(1, 2);
    assert(!(BEFORE(0, 1) && BEFORE(1, 2) && BEFORE(2, 0)));
    assert(!(BEFORE(0, 2) && BEFORE(2, 1) && BEFORE(1, 0)));
#endif
    assert(!X_LOCKED(state[X]) && !X_LOCKED(state[Y]) && !mark[X] && !mark[Y])
  }
}
