/* Node M dies, the others recover what it left, and it comes back. Record A is at the survivor S, B at the
 * survivor T, and C at M.
 *
 * A worker of M names its locks, posts their CASes, decides, posts the write-backs, and sets the completion mark (I10, I5). M may be
 * declared dead at any moment. It goes on as a zombie until its process is killed, and the network carries out what M has posted
 * until the record's home has cut M off. Each survivor cuts M off, waits until it is quiet (its transactions that began before its
 * fence moved have ended), and says so. A recoverer takes the LOCK of M's directory, which proves that the process is dead. It reads
 * the rings, redoes what was decided, frees the other locks, sets the marks, brings the rings into M's log, and writes "recovered".
 * It may die at any moment, with chains of its own under way. Then a second recoverer does the same. Meanwhile a worker of S commits.
 * M's next life rebuilds C from its own log and from that of S, which may have a write to C that never reached M.
 *
 * A node that has died is one that takes no more steps until its process is killed. So a crash at each step needs no step here.
 *
 *   (nothing)   M writes A and B; two recoverers; the worker of S writes A or B
 *   -DWORKERS   two workers of M write A; one recoverer
 *   -DREJOIN    M writes A and C, and so does the worker of S, at the old M or at its next life; one recoverer
 *   -DWHOLE     M writes A, B and C, and the worker of S writes A and C; two recoverers, and M's next life
 *
 * A reader may come at any moment: whenever a record is free, it must have the newest decided version, whole. So no decided write is
 * lost, no other write is seen, and M's next life serves nothing that is older than what was decided. At the end no lock is left.
 *
 * Not here: the death of S or T; keys whose places are used again; snapshots and leases; epochs, but for D at one moment; rings that
 * are lost; claims (whoever has the LOCK recovers). Three things make no difference here, so that no -D<NAME> takes them away. Fences
 * (I11): M asks none, and what a zombie decides is in its ring before its process is proved dead; S, which asks, is quiet before C
 * is rebuilt. A redo that compares TIDs: while the state is the word that was named, nobody else has written. And reading the rings
 * before the cut, if the process is dead.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#ifdef REJOIN
#define QUEUES 1                                   /* of a life */
#define TRANSACTIONS 2                             /* of the worker of S */
#else
#define QUEUES 2
#define TRANSACTIONS 1
#endif
#if defined(REJOIN) || defined(WORKERS)
#define RECOVERERS 1
#else
#define RECOVERERS 2
#endif
#ifdef WHOLE
#define REJOIN
#endif

#define A 0
#define B 1
#define C 2

/* State words. */
#define FREE 0
#define OF_M(w) (1 + (w))                          /* of worker w in M's first life */
#define OF_S 3

/* A life posts to a home through a queue. Where M has two workers, each of them has a queue to S. */
#define M 0
#define FIRST 1                                    /* recoverer */
#define SECOND 2
#define QUEUE(life, n) ((life) * 2 + (n))
#define OF_WORKER 6                                /* the queue from the worker of S to C */
#ifdef WORKERS
#define RECORD(queue) A
#define WORKER(queue) ((queue) & 1)
#define HAS(w, n) ((w) == (n))
#else
#define RECORD(queue) ((queue) == OF_WORKER -> C : (queue) & 1)
#define WORKER(queue) 0
#define HAS(w, n) ((n) < QUEUES)
#endif
#ifdef FREED_BY_NODE
#define IS_NAMED(word, queue) ((word) == OF_M(0) || (word) == OF_M(1))
#else
#define IS_NAMED(word, queue) ((word) == OF_M(WORKER(queue)))
#endif

/* What is posted, and how much of it is left. The bytes of a WRITE land in any order. */
#define NOTHING 0
#define LOCK 1
#define WRITE_BACK 2
#define NOT_THE_VALUE 3                            /* all but this has landed */
#define NOT_THE_VERSION 4
#define GIVE_BACK 5

byte word[3], version[3], value[3];
byte decided[3];                                   /* the newest version that is */

byte posted[7];
byte writes[7];                                    /* the version; from M also what its ring has; 0: the lock was not taken */
bool cut[7];

/* M's reliable memory. */
bool named[2], tail[2], complete[2];
byte writes_c;
bool adopted;                                      /* the rings are in synced segments */

bool alive = true;                                 /* M's process, in its first life */
bool running = true;                               /* the first recoverer's */
bool owed = true;                                  /* from M's death on: its life is not recovered yet */

/* S, for what has to do with C. */
bool fence_moved, has_open, began_after;
#ifdef REJOIN
bool said;                                         /* M is cut off, and S is quiet; T only cuts M off */
#else
#define said true
#endif
byte log_of_s;                                     /* the newest version of C there */
bool serves;                                       /* M's next life */

#define is_whole(r) (version[r] == decided[r] && value[r] == decided[r])
#define look(r) assert(word[r] != FREE || is_whole(r))
#define decide(r, n) assert((n) == decided[r] + 1); decided[r] = n; look(r)

/* The CAS and the READ behind it: as good as one, under the lock. */
#define lock(r, who, n) if :: word[r] == FREE -> word[r] = who; n = version[r] + 1 :: else -> n = 0 fi

/* A recoverer frees by CAS of the word that was named, everybody else by WRITE. */
inline free(queue, r) {
  if
  :: queue < QUEUE(FIRST, 0) || queue == OF_WORKER || IS_NAMED(word[r], queue) -> word[r] = FREE
  :: else
  fi
}

inline carry_out(queue, r) {
  if
  :: posted[queue] == LOCK -> lock(r, OF_M(WORKER(queue)), writes[queue]); posted[queue] = NOTHING
  :: posted[queue] == WRITE_BACK -> version[r] = writes[queue]; posted[queue] = NOT_THE_VALUE
  :: posted[queue] == WRITE_BACK -> value[r] = writes[queue]; posted[queue] = NOT_THE_VERSION
  :: posted[queue] == NOT_THE_VALUE -> value[r] = writes[queue]; posted[queue] = GIVE_BACK
  :: posted[queue] == NOT_THE_VERSION -> version[r] = writes[queue]; posted[queue] = GIVE_BACK
  :: posted[queue] == GIVE_BACK -> free(queue, r); posted[queue] = NOTHING
  fi;
  look(r)
}

#define is_under_way(queue) (posted[queue] != NOTHING && !cut[queue])

proctype Network() {
end:
  do
  :: atomic { is_under_way(0) -> carry_out(0, RECORD(0)) }
  :: atomic { is_under_way(1) -> carry_out(1, RECORD(1)) }
  :: atomic { is_under_way(2) -> carry_out(2, RECORD(2)) }
  :: atomic { is_under_way(3) -> carry_out(3, RECORD(3)) }
  :: atomic { is_under_way(4) -> carry_out(4, RECORD(4)) }
  :: atomic { is_under_way(5) -> carry_out(5, RECORD(5)) }
  :: atomic { is_under_way(OF_WORKER) -> carry_out(OF_WORKER, C) }
  od
}

#define settled(life) (posted[QUEUE(life, 0)] == NOTHING && posted[QUEUE(life, 1)] == NOTHING)
#define is_settled(w) ((!HAS(w, 0) || posted[QUEUE(M, 0)] == NOTHING) && (!HAS(w, 1) || posted[QUEUE(M, 1)] == NOTHING))

/* A step of M, if its process is still there. */
#define at_m(condition, step) atomic { !alive || (condition); if :: alive -> step :: else -> goto gone fi }

#ifdef REJOIN
#define has_c (writes_c != 0)
inline lock_c() { lock(C, OF_M(0), writes_c) }
inline install_c() { decide(C, writes_c); version[C] = writes_c; value[C] = writes_c; word[C] = FREE; look(C) }
inline free_c() { if :: has_c -> word[C] = FREE; look(C) :: else fi }
#else
#define has_c true
inline lock_c() { skip }
inline install_c() { skip }
inline free_c() { skip }
#endif

#define is_locked(w, n) (!HAS(w, n) || writes[QUEUE(M, n)] != 0)
#define post(w, n, what) if :: HAS(w, n) && (is_locked(w, n) || what == LOCK) -> posted[QUEUE(M, n)] = what :: else fi
#define post_all(w, what) post(w, 0, what); post(w, 1, what)

inline commit(w) {
  tail[w] = true;
#ifdef MARKED_BEFORE_WRITE_BACK
  complete[w] = true;
#endif
  if :: HAS(w, 0) -> decide(A, writes[QUEUE(M, 0)]) :: else fi;
  if :: HAS(w, 1) -> decide(RECORD(1), writes[QUEUE(M, 1)]) :: else fi;
  install_c();
  post_all(w, WRITE_BACK)
}

/* Posting is one step with what is before it: what is posted may happen as late as it likes, or never. */
proctype Coordinator(byte w) {
#ifdef NAMED_AFTER_LOCK
  at_m(true, post_all(w, LOCK));
  at_m(true, named[w] = true);
#else
  at_m(true, named[w] = true; post_all(w, LOCK));
#endif
  at_m(true, lock_c());
  at_m(is_settled(w),
       if :: is_locked(w, 0) && is_locked(w, 1) && has_c -> commit(w) :: else -> free_c(); post_all(w, GIVE_BACK) fi);
  at_m(is_settled(w), complete[w] = true);
gone:
  skip
}

#define is_cut_off(life) (cut[QUEUE(life, 0)] && (QUEUES == 1 || cut[QUEUE(life, 1)]))

/* A node that is cut off was declared dead before. Where nothing has to become quiet, the survivor says so in the same step. */
proctype Survivor(byte n) {
#ifdef WORKERS
  atomic { cut[QUEUE(M, 0)] = true; cut[QUEUE(M, 1)] = true };
#elif defined(REJOIN)
  if
  :: n == 0 ->
     fence_moved = true;
     atomic { cut[QUEUE(M, 0)] = true; cut[OF_WORKER] = true };
#ifndef BEFORE_QUIET
     !has_open || began_after;
#endif
     said = true
  :: else -> cut[QUEUE(M, n)] = true
  fi;
#else
  cut[QUEUE(M, n)] = true;
#endif
#if RECOVERERS == 2
  if :: cut[QUEUE(FIRST, n)] = true :: !owed fi;
#endif
#ifdef REJOIN
#ifndef TRUNCATED_BEFORE_DATA
  serves;
#endif
  if :: n == 0 -> log_of_s = 0 :: else fi
#endif
}

#if defined(ACTS_BEFORE_CUT)
#define may_act true
#elif defined(SECOND_DOES_NOT_WAIT)
#define may_act (is_cut_off(M) && said)
#else
#define may_act (is_cut_off(M) && said && (life == FIRST || is_cut_off(FIRST)))
#endif

#ifdef REDO_IGNORES_WORD
#define is_held(n) true
#else
#define is_held(n) IS_NAMED(word[RECORD(n)], n)
#endif
#ifdef REDO_SKIPS_EQUAL
#define is_due(n) (version[RECORD(n)] < writes[QUEUE(M, n)])
#else
#define is_due(n) (version[RECORD(n)] <= writes[QUEUE(M, n)])
#endif

#define is_killed (life == FIRST && !running)
#define at_recoverer(condition, step) \
  atomic { is_killed || (condition); if :: is_killed -> goto gone :: else -> step fi }

#define kill_m() alive = false; cut[OF_WORKER] = true

inline read_rings() {
  unfinished[0] = named[0] && !complete[0];
  unfinished[1] = named[1] && !complete[1];
  redoes[0] = tail[0];
  redoes[1] = tail[1]
}

/* The READ of the record, and what is posted then. A recoverer that is cut off gets no further. */
inline finish(n) {
  if
  :: cut[QUEUE(life, n)] -> goto gone
  :: else ->
     if
     :: !is_held(n)
     :: is_held(n) && redoes[WORKER(n)] && is_due(n) ->
        writes[QUEUE(life, n)] = writes[QUEUE(M, n)];
        posted[QUEUE(life, n)] = WRITE_BACK
     :: else -> posted[QUEUE(life, n)] = GIVE_BACK
     fi
  fi
}

proctype Recoverer(byte life) {
  bool unfinished[2], redoes[2];
  if :: life == SECOND -> atomic { if :: owed -> running = false :: else -> goto gone fi } :: else fi;
#ifdef RING_BEFORE_DEATH
  at_recoverer(may_act, read_rings());
  at_recoverer(true, kill_m());
#else
  at_recoverer(true, kill_m());
  at_recoverer(may_act, read_rings());
#endif
#ifdef MARKED_BEFORE_FREED
  at_recoverer(true, complete[0] = true; complete[1] = true);
#endif
  if :: unfinished[WORKER(0)] -> at_recoverer(true, finish(0)) :: else fi;
  if :: unfinished[WORKER(1)] && QUEUES == 2 -> at_recoverer(true, finish(1)) :: else fi;
  at_recoverer(settled(life), complete[0] = true; complete[1] = true);
#ifdef RECOVERED_BEFORE_ADOPTED
  at_recoverer(true, owed = false);
#endif
  at_recoverer(true, adopted = true);
  at_recoverer(true, owed = false);
gone:
  skip
}

#ifdef REJOIN
/* A transaction is open until its write-backs are complete, or have failed. */
proctype WorkerOfS() {
  byte a, c, left = TRANSACTIONS;
  bool commits;
again:
  atomic { has_open = true; began_after = fence_moved };
  atomic {
    if
    :: !began_after -> skip
    :: began_after && serves -> cut[OF_WORKER] = false; posted[OF_WORKER] = NOTHING
    :: else -> goto over
    fi
  };
  atomic { if :: !cut[OF_WORKER] -> lock(C, OF_S, c) :: else fi; if :: c == 0 -> goto over :: else fi };
  atomic { lock(A, OF_S, a); commits = a != 0 && began_after == fence_moved };
  atomic {
    if
    :: commits ->
       log_of_s = c;
       decide(A, a);
       decide(C, c);
       version[A] = a; value[A] = a;
       writes[OF_WORKER] = c;
       posted[OF_WORKER] = WRITE_BACK
    :: else -> posted[OF_WORKER] = GIVE_BACK
    fi;
    if :: a != 0 -> word[A] = FREE; look(A) :: else fi
  };
  posted[OF_WORKER] == NOTHING || cut[OF_WORKER];
over:
  atomic { has_open = false; a = 0; c = 0; commits = false; left--; if :: left > 0 -> goto again :: else fi }
}

#ifdef REBUILT_WITHOUT_TID
#define newest(n) c = (n != 0 -> n : c)
#else
#define newest(n) c = (n > c -> n : c)
#endif

proctype NextLife() {
  byte c;
  bool own, others;
#ifdef JOINS_WHILE_OWED
  atomic { said; kill_m() };
#else
  !owed;
#endif
  do
  :: atomic { !own -> own = true; if :: adopted && tail[0] -> newest(writes_c) :: else fi }
  :: atomic { !others -> others = true; newest(log_of_s) }
  :: own && others -> break
  od;
  atomic { word[C] = FREE; version[C] = c; value[C] = c; serves = true; look(C) }
}
#else
proctype WorkerOfS() {
  byte r, n;
  if :: r = A :: r = B fi;
  atomic { lock(r, OF_S, n); if :: n == 0 -> goto over :: else fi };
  atomic { decide(r, n); version[r] = n; value[r] = n };
  atomic { assert(word[r] == OF_S); word[r] = FREE; look(r) };
over:
  skip
}
#endif

init {
  atomic {
    run Network();
#ifdef WORKERS
    run Coordinator(1);
#else
    run WorkerOfS();
#endif
    run Survivor(0);
    run Coordinator(0);
    run Recoverer(FIRST);
#if RECOVERERS == 2
    run Survivor(1);
    run Recoverer(SECOND);
#endif
#ifdef REJOIN
    run NextLife()
#endif
  };
  /* D passes the epoch of M's transactions. */
#ifdef D_BEFORE_ADOPTED
  is_cut_off(M);
#else
  !owed;
#endif
  assert(adopted || !tail[0] && !tail[1]);
  _nr_pr == 2;
  assert(word[A] == FREE && word[B] == FREE && word[C] == FREE);
  assert(is_whole(A) && is_whole(B) && is_whole(C))
}
