/* The configuration while nodes die, are recovered, and come back: who is a member, what dead lives owe, who is quiet, who has claimed
 * a recovery (cluster_config/membership/). Each change of the document is one step here, since it is a compare-and-set.
 *
 * A life of a node joins, serves, and may be declared dead at any moment. Its fence moves when it reads that a life has begun or ended.
 * Then it cuts off the lives that are over, acts in the new membership, and says that it is quiet once its transaction has ended that
 * began before. A member that serves claims what a dead life owes, acts for it at each home, and ends the debt. It may also give the
 * claim up, leave or die. Declared dead, it goes on acting wherever it has not been cut off. A node whose life is over comes back when
 * nothing is owed. If no member that serves sees its directory, or all that do have given up, it comes back before, for a visit: a life
 * that serves nobody, only recovers, and leaves. Whoever has given up may try again, but not during a visit.
 *
 *   (nothing)   three nodes that see each other's directories; two lives end, and their nodes come back
 *   -DVISIT     two nodes that do not; one of them dies, visits, dies during the visit, visits again, and comes back
 *   -DDECLINE   two nodes that see each other's directories; the one that serves may give the other's recovery up for good
 *   -DLEAVE     three nodes; one life ends, and another one leaves in order meanwhile
 *   -DWHOLE     three nodes, one of which is alone on its host; two lives end, and another one leaves in order
 *
 * What must hold:
 * - Whoever acts for a dead life acts alone: no other life that acts, or has acted, for it can still reach a home, and it still owes.
 * - Nobody acts for a life before all members that serve and that it may know have cut it off and are quiet about it.
 * - D moves only if all that died have been recovered, so what a life owes ends in no other way.
 * - A transaction aborts because of the fence exactly if a life has begun or ended since it began.
 * - If nothing more happens and a member serves, nothing is owed.
 * - A node does not visit twice for one debt, unless it has died meanwhile: each visit changes the membership twice.
 *
 * Not here: records, rings and logs (recovery.pml); all nodes that begin together. Four things make no difference here, so that no
 * -D<NAME> takes them away:
 * - The LOCK of a directory guards what is in the directory.
 * - The recoverer's question to its own fence: the recoverer may be stopped between the answer and the operation.
 * - A new life begins without its former life's word that it was quiet; that was about a smaller number than any later death has.
 * - A debt ends only when a member is quiet, too, that has begun to serve since the claim. The dead life does not know that member, and
 *   all transactions of it are younger.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#if defined(DECLINE)
#define NODES 2
#define HOST(k) 0
#elif defined(VISIT)
#define NODES 2
#define HOST(k) (k)
#elif defined(WHOLE)
#define NODES 3
#define HOST(k) ((k) == 0)
#else
#define NODES 3
#define HOST(k) 0
#endif
#ifdef LEAVE
#define DEATHS 1
#else
#define DEATHS 2
#endif
#if defined(LEAVE) || defined(WHOLE)
#define LEAVES 1
#else
#define LEAVES 0
#endif
#define LIVES 5

#define bit(l) (1 << (l))
#define has(mask, l) (((mask) & bit(l)) != 0)
#define EVERY(p, x) (p(0, x) && p(1, x) && p(2, x) && p(3, x) && p(4, x))
#define SOME(p, x) (p(0, x) || p(1, x) || p(2, x) || p(3, x) || p(4, x))

/* The document. The words with a bit for each life are sets. Lives are numbered as they begin. */
byte number = 1;
byte node[LIVES], newest[NODES];
byte lives = bit(NODES) - 1, serves = bit(NODES) - 1, visits;
byte owed;
byte over[LIVES];                                  /* the number of the membership in which the life was over */
byte quiet[LIVES];                                 /* the number about which the life has said that it is quiet */
byte claimed[LIVES];                               /* by the life of this index less 1 */

/* What the document does not tell. */
byte begun = NODES, changes = 1, deaths, leaves;   /* changes: a life has begun or ended */
byte dead, recovered;
byte knows[LIVES];                                 /* lives that served when it ended */

/* A life's own. */
byte seen[LIVES], seen_changes[LIVES];             /* its fence is at this number */
byte to_cut[LIVES], cut[LIVES];
byte acts_in[LIVES];                               /* the number of the membership */
byte open[LIVES], open_changes[LIVES];             /* the number that its transaction has noted */
byte has_begun_one;                                /* lives that have had their transaction */
byte acts_for[LIVES];                              /* the life of this index less 1 */
byte settled[LIVES];                               /* homes */

#ifdef D_GOES_BY_MEMBERS
#if NODES == 2
#define d_may_move (!has(dead, newest[0]) && !has(dead, newest[1]))
#else
#define d_may_move (!has(dead, newest[0]) && !has(dead, newest[1]) && !has(dead, newest[2]))
#endif
#else
#define d_may_move (owed == 0)
#endif
#define look_at_d() assert(!d_may_move || dead == recovered)

#if NODES == 2
#define newest_lives (bit(newest[0]) | bit(newest[1]))
#else
#define newest_lives (bit(newest[0]) | bit(newest[1]) | bit(newest[2]))
#endif

/* The fence moves, and the survivor's thread learns whom it has to cut off. */
inline follow() {
  seen[l] = number;
  seen_changes[l] = changes;
  to_cut[l] = owed | (dead & newest_lives)
}

#ifdef BEGINNINGS_DO_NOT_COUNT
#define count_beginning() changes++
#else
#define count_beginning() changes++; number++
#endif
#ifdef ENDS_DO_NOT_COUNT
#define count_end() changes++
#else
#define count_end() changes++; number++
#endif

#ifdef DECLINE
byte declined[LIVES], visited[LIVES];              /* by these lives; by these nodes, whose visits have ended in order */
#define has_declined(n, d) has(declined[d], n)
#define decline(d) declined[d] = declined[d] | bit(l)
#define forget(d) declined[d] = declined[d] & ~bit(l)
#define forget_life() forget(0); forget(1); forget(2); forget(3); forget(4)
#define note_visit(d) visited[d] = visited[d] | (owes_here(d, node[l]) -> bit(node[l]) : 0)
#define note_visits() note_visit(0); note_visit(1); note_visit(2); note_visit(3); note_visit(4)
#define was_visited(d, k) (waits_for(d, k) && has(visited[d], k))
#define visits_again(k) SOME(was_visited, k)
#else
#define has_declined(n, d) false
#define decline(d) skip
#define forget_life() skip
#define note_visits() skip
#define visits_again(k) false
#endif
inline end_life() {
  count_end();
  over[l] = number;
  lives = lives & ~bit(l);
  serves = serves & ~bit(l);
  knows[l] = serves;
  quiet[l] = 0;
  forget_life();
  /* Nobody asks any more for what follows. */
  seen[l] = 0; seen_changes[l] = 0; to_cut[l] = 0; cut[l] = 0; acts_in[l] = 0; open[l] = 0; open_changes[l] = 0;
  has_begun_one = has_begun_one | bit(l)
}

inline owe() {
  dead = dead | bit(l);
#ifdef VISITOR_OWES_NOTHING
  if :: has(visits, l) -> recovered = recovered | bit(l) :: else -> owed = owed | bit(l) fi
#else
  owed = owed | bit(l)
#endif
}

inline stop_acting() { acts_for[l] = 0; settled[l] = 0 }

/* In order, so nothing of it is under way, and its transaction has ended. It is dead for all that, if the node's former life still owes. */
#define owes(d, k) (has(owed, d) && node[d] == (k))

inline leave() {
  end_life();
  if :: SOME(owes, node[l]) -> owe() :: else fi;
#ifndef LEAVES_EARLY
  stop_acting()
#endif
}

/* ---- Claims. */

#define sees(l, d) (HOST(node[l]) == HOST(node[d]))
#define recovers (has(serves, l) || has(lives & visits, l))

#define is_quiet(n, since) (!has(serves, n) || quiet[n] >= (since))
#ifdef ONE_IS_QUIET
#define quiet_since(since) (quiet[l] >= (since))
#elif defined(QUIET_FOR_ONE_NUMBER)
#define is_quiet_for(n, since) (!has(serves, n) || quiet[n] == (since))
#define quiet_since(since) EVERY(is_quiet_for, since)
#else
#define quiet_since(since) EVERY(is_quiet, since)
#endif

#define claimer(d) (claimed[d] - 1)
#if defined(CLAIM_OF_THE_NODE)
#define is_claimed(d) (claimed[d] != 0 && has(lives, newest[node[claimer(d)]]))
#define is_own(d) (is_claimed(d) && node[claimer(d)] == node[l])
#elif defined(CLAIM_OUTLIVES_ITS_LIFE)
#define is_claimed(d) (claimed[d] != 0)
#elif defined(CLAIMS_FROM_THE_LIVING)
#define is_claimed(d) false
#else
#define is_claimed(d) (claimed[d] != 0 && has(lives, claimer(d)))
#endif
#ifndef CLAIM_OF_THE_NODE
#define is_own(d) false
#endif

#if defined(CLAIMS_BEFORE_QUIET)
#define since(d) 0
#elif defined(CLAIMS_BEFORE_CLAIMER_IS_CUT)
#define since(d) over[d]
#else
#define since(d) (claimed[d] != 0 && has(owed, claimer(d)) && over[claimer(d)] > over[d] -> over[claimer(d)] : over[d])
#endif

#define lives_again(d, k) (node[d] != (k) && has(lives, newest[node[d]]))
#define may_claim(d) (recovers && acts_for[l] == 0 && has(owed, d) && sees(l, d) && !lives_again(d, node[l]) && \
                      (is_own(d) || (!is_claimed(d) && quiet_since(since(d)))))

#ifdef CLAIMS_MOVE_FENCES
#define claim(d) claimed[d] = l + 1; acts_for[l] = (d) + 1; number = (number < 20 -> number + 1 : number)
#else
#define claim(d) claimed[d] = l + 1; acts_for[l] = (d) + 1
#endif
#ifdef CLAIM_IS_NO_COMPARE_AND_SET
#define CLAIM(d) \
  :: atomic { wanted == 0 && may_claim(d) -> wanted = (d) + 1 } \
  :: atomic { wanted == (d) + 1 -> wanted = 0; if :: recovers && has(owed, d) && acts_for[l] == 0 -> claim(d) :: else fi }
#else
#define CLAIM(d) :: atomic { may_claim(d) -> claim(d) }
#endif

/* ---- What a life does for another one at a home: a member that served when that one died, and so may have been told something by it. */

#define has_done_its_part(n, d) \
  (!has(serves & knows[d], n) || (has(cut[n], d) && (open[n] == 0 || open[n] >= over[d])))
#define lets_in(n, x) (has(serves & knows[acts_for[x] - 1], n) && !has(cut[n], x))
#define leaves_alone(x, d) (x == l || acts_for[x] != (d) + 1 || !SOME(lets_in, x))

/* Each operation is one step; those that a life has under way when it dies, or stops, are the steps that it still takes. */
inline act(h) {
  d = acts_for[l] - 1;
  assert(has(owed, d));
  assert(EVERY(has_done_its_part, d));
  assert(EVERY(leaves_alone, d));
  settled[l] = settled[l] | bit(h);
  d = 0
}
#define ACT(h) \
  :: atomic { acts_for[l] != 0 && has(serves & knows[acts_for[l] - 1] & ~settled[l], h) && !has(cut[h], l) -> act(h) }

#ifdef RECOVERED_WITHOUT_CLAIM
#define has_claim (acts_for[l] != 0)
#else
#define has_claim (has(lives, l) && acts_for[l] != 0 && claimed[acts_for[l] - 1] == l + 1)
#endif
#ifdef RECOVERED_BEFORE_SETTLED
#define has_settled true
#else
#define has_settled ((serves & knows[acts_for[l] - 1] & ~settled[l]) == 0)
#endif

/* ---- Coming back. */

#define is_seen(n, d) (has(serves, n) && sees(n, d) && !has_declined(n, d))
#define is_seen_by_any(d) (is_seen(0, d) || is_seen(1, d) || is_seen(2, d) || is_seen(3, d) || is_seen(4, d))
#define owes_here(d, k) (has(owed, d) && HOST(node[d]) == HOST(k))
#define waits_for(d, k) (owes_here(d, k) && !is_claimed(d) && !lives_again(d, k) && !is_seen_by_any(d))
#define has_to_visit(k) SOME(waits_for, k)
#ifdef JOINS_WHILE_OWED
#define may_join true
#else
#define may_join (owed == 0)
#endif

inline join(k) {
  node[l] = k;
  newest[k] = l;
  begun++;
  lives = lives | bit(l);
  count_beginning();
  follow();
  look_at_d()
}
#define is_over(k) (l >= NODES && begun == l && !has(lives, newest[k]) && serves != 0)
#define JOIN(k) \
  :: atomic { is_over(k) && may_join -> join(k) } \
  :: atomic { is_over(k) && has_to_visit(k) -> assert(!visits_again(k)); visits = visits | bit(l); join(k) }
#ifdef VISIT_ENDS_EARLY
#define visit_is_over (!has_to_visit(node[l]))
#else
#define visit_is_over (!SOME(owes_here, node[l]))
#endif

/* A life that serves has taken over what the node's former ones owe. */
#define own_debt(d) (owes(d, node[l]) -> bit(d) : 0)

proctype Life(byte l) {
  byte d;
#ifdef CLAIM_IS_NO_COMPARE_AND_SET
  byte wanted;
#endif
end:
  do
  /* As a member. The last node is the first to die: where the nodes are alike, another one would show the same. */
  :: atomic { has(lives, l) && deaths < DEATHS && (deaths != 0 || l == NODES - 1) -> deaths++; end_life(); owe(); look_at_d() }
  :: atomic { has(serves, l) && leaves < LEAVES && owed != 0 && open[l] == 0 -> leaves++; leave() }
  :: atomic { has(lives & visits, l) && (visit_is_over || serves == 0) -> note_visits(); leave() }
  :: atomic {
       has(lives & ~serves & ~visits, l) -> serves = serves | bit(l);
       owed = owed & ~(own_debt(0) | own_debt(1) | own_debt(2) | own_debt(3) | own_debt(4));
       look_at_d()
     }
  JOIN(0)
  JOIN(1)
#if NODES == 3
  JOIN(2)
#endif
  /* As a survivor. */
  :: atomic { has(lives, l) && (seen[l] != number || seen_changes[l] != changes) -> follow() }
#ifdef QUIET_BEFORE_CUT
  :: atomic { acts_in[l] != seen[l] -> acts_in[l] = seen[l] }
  :: atomic { (cut[l] | to_cut[l]) != cut[l] -> cut[l] = cut[l] | to_cut[l] }
#else
  :: atomic { acts_in[l] != seen[l] -> cut[l] = cut[l] | to_cut[l]; acts_in[l] = seen[l] }
#endif
#if defined(QUIET_AT_ONCE)
  :: atomic { quiet[l] != acts_in[l] -> quiet[l] = acts_in[l] }
#elif defined(QUIET_ABOUT_THE_NEWEST)
  :: atomic { has(lives, l) && quiet[l] != number && (open[l] == 0 || open[l] >= acts_in[l]) -> quiet[l] = number }
#else
  :: atomic { quiet[l] != acts_in[l] && (open[l] == 0 || open[l] >= acts_in[l]) -> quiet[l] = acts_in[l] }
#endif
  :: atomic {
       has(serves & ~has_begun_one, l) -> has_begun_one = has_begun_one | bit(l);
       open[l] = seen[l];
       open_changes[l] = seen_changes[l]
     }
  :: atomic {
       open[l] != 0 -> assert((open[l] == seen[l]) == (open_changes[l] == seen_changes[l]));
       open[l] = 0;
       open_changes[l] = 0
     }
  /* As a recoverer. */
  CLAIM(0)
  CLAIM(1)
  CLAIM(2)
  CLAIM(3)
  CLAIM(4)
  ACT(0)
  ACT(1)
  ACT(2)
  ACT(3)
  ACT(4)
#if defined(GIVES_UP_EARLY) || defined(RECOVERED_BEFORE_SETTLED)
  :: atomic { has(lives, l) && acts_for[l] != 0 && !has_claim -> stop_acting() }
#endif
#ifdef GIVES_UP_EARLY
  :: atomic { has_claim -> claimed[acts_for[l] - 1] = 0 }
#else
  :: atomic { has_claim -> decline(acts_for[l] - 1); claimed[acts_for[l] - 1] = 0; stop_acting() }
#endif
  :: atomic {
       has_claim && has_settled && quiet_since(over[acts_for[l] - 1]) -> d = acts_for[l] - 1;
       owed = owed & ~bit(d);
       recovered = recovered | bit(d);
       claimed[d] = 0;
       d = 0;
#ifndef RECOVERED_BEFORE_SETTLED
       stop_acting();
#endif
       look_at_d()
     }
  od
}

init {
  atomic {
    do
    :: deaths < NODES ->
       node[deaths] = deaths;
       newest[deaths] = deaths;
       seen[deaths] = number;
       seen_changes[deaths] = changes;
       acts_in[deaths] = number;
       quiet[deaths] = number;
       deaths++
    :: else -> deaths = 0; break
    od;
    run Life(0);
    run Life(1);
    run Life(2);
    run Life(3);
    run Life(4)
  };
  timeout;
#ifdef WHOLE
  /* Otherwise a visit is due, and there is no life left for it. */
  if :: begun < LIVES -> assert(serves == 0 || owed == 0) :: else fi
#else
  assert(serves == 0 || owed == 0)
#endif
}
