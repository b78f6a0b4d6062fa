/* Times, and the judge of what transactions have done to the records X and Y. The models of TicToc include this file, and define
 * TRANSACTIONS before they do.
 *
 * Each dependency between committed transactions must go up in commit_ts: strictly, where one has overwritten what the other read or
 * wrote; but at the first time of an epoch one may overwrite what another of the same time has read. There must be no cycle among those
 * of equal commit_ts. So the order by commit_ts is a serial order, and it agrees with the order by epochs that snapshots and D go by.
 * With CYCLES_ONLY there must only be no cycle. */

#define X 0
#define Y 1
#define BIT(r) (1 << (r))
#define BOTH 3
#define NONE 255
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* A time is a TID: epoch and sequence. */
#define SEQUENCES 8
#define TIME(epoch, sequence) ((epoch) * SEQUENCES + (sequence))
#define EPOCH(time) ((time) / SEQUENCES)
#define LAST_TIME(epoch) TIME(epoch, SEQUENCES - 1)

/* Of each transaction: the TIDs that it read and overwrote, which records it reads and writes, and the commit_ts that its accesses at
 * other nodes ask for. */
byte saw[TRANSACTIONS * 2], found[TRANSACTIONS * 2];
byte reads[TRANSACTIONS], writes[TRANSACTIONS];
byte asks[TRANSACTIONS];
byte commit_ts[TRANSACTIONS];
bool committed[TRANSACTIONS];

#define SAW(r) saw[me * 2 + (r)]
#define FOUND(r) found[me * 2 + (r)]
#define COMMIT_TS commit_ts[me]
#define MINE(set, r) ((set[me] & BIT(r)) != 0)
#define transaction(t, what_it_reads, what_it_writes) reads[t] = what_it_reads; writes[t] = what_it_writes

/* What makes a come before b in a serial order, by what they did to r. */
#define SEES(a, b, r) ((writes[a] & BIT(r)) && (reads[b] & BIT(r)) && found[a * 2 + r] < saw[b * 2 + r])
#define OVERWRITES(a, b, r) ((writes[a] & BIT(r)) && (writes[b] & BIT(r)) && found[a * 2 + r] < found[b * 2 + r])
#define MISSES(a, b, r) ((reads[a] & BIT(r)) && (writes[b] & BIT(r)) && saw[a * 2 + r] <= found[b * 2 + r])

#define TIE(a, b) (commit_ts[a] == commit_ts[b] && commit_ts[a] % SEQUENCES == 1)

#ifdef CYCLES_ONLY
#define judge_times(holds) skip
#else
#define judge_times(holds) assert(holds)
#endif

/* Sets, for each transaction, of those that come after it. Loops, since they cost less to compile than all pairs written out. */
hidden byte a, b, c, r;
hidden byte later[TRANSACTIONS];
#define LATER(a, b) ((later[a] & BIT(b)) != 0)

inline judge_pair() {
  for (r : X .. Y) {
    if
    :: OVERWRITES(a, b, r) -> judge_times(commit_ts[a] < commit_ts[b]); later[a] = later[a] | BIT(b)
    :: else
    fi;
    if
    :: MISSES(a, b, r) -> judge_times(commit_ts[a] < commit_ts[b] || TIE(a, b)); later[a] = later[a] | BIT(b)
    :: else
    fi;
    if
    :: SEES(a, b, r) -> judge_times(commit_ts[a] <= commit_ts[b]); later[a] = later[a] | BIT(b)
    :: else
    fi
  }
}

/* In a d_step, at the end. */
inline judge_all() {
  for (a : 0 .. TRANSACTIONS - 1) {
    later[a] = 0;
    for (b : 0 .. TRANSACTIONS - 1) {
      if :: a != b && committed[a] && committed[b] -> judge_pair() :: else fi
    }
  }
  for (a : 0 .. TRANSACTIONS - 1) {
    for (b : 0 .. TRANSACTIONS - 1) {
      assert(!LATER(a, b) || !LATER(b, a));
      for (c : 0 .. TRANSACTIONS - 1) { assert(!LATER(a, b) || !LATER(b, c) || !LATER(c, a)) }
    }
  }
}
