/* Old versions of a shared record (I12): a holder at another node keeps the version that it overwrites in a block that the owner has lent, the owner
 * keeps what it overwrites itself, and snapshot readers at the owner go from the record to the version of their epoch.
 * src/cluster/record_access/version_copy.h, src/cluster/messages/lent_blocks.h and src/cc/garbage.cc are what is modelled.
 *
 * Each epoch is a snapshot period of its own. Each reader sees the last version of the epochs before its snapshot's, and never goes through a block
 * that has been freed. The holder may die behind each of its steps; then E goes on without it, and somebody finishes or frees what it held. What was left
 * out: values that do not fit, the owner of TID words that are not epochs, several records.
 *
 * Each -D<NAME> below takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#define LAST 5      /* epoch */
#define OUT 99      /* of an epoch slot: not entered */
#define LENT 1      /* the holder's block */
#define OWN 2       /* the owner's block */
#define BLOCKS 3

byte E = 2;
byte state = 0;                     /* 0 free, 1 the holder's */
bool mark = false;                  /* the lock bit */
byte epoch = 1; byte version = 1;   /* the TID word: its epoch and its sequence */
byte value = 1;
byte previous = 0;                  /* a block; 0: none */

byte kept_epoch[BLOCKS], kept_value[BLOCKS], kept_previous[BLOCKS];
byte registered[BLOCKS];            /* the epoch by which the block is collected; 0: it is not registered */
bool freed[BLOCKS];

byte versions = 1;                  /* that there have been */
byte newest[LAST + 1];              /* by epoch: the last version of it that was decided */
byte holders_slot = OUT, owners_slot = OUT, pinned = OUT;
byte held_epoch, held_version;      /* what the holder has decided */
bool decided = false, died = false, linked = false, holder_ended = false, owner_ended = false, read = false;

proctype Epochs() {
end:
  do
  :: atomic { E < LAST && holders_slot >= E && owners_slot >= E -> E++ }
  :: read -> break
  od
}

#define MAY_DIE if :: skip :: atomic { died = true; holders_slot = OUT; goto gone } fi

inline copy_aside(block, e, v, p) { d_step { kept_epoch[block] = e; kept_value[block] = v; kept_previous[block] = p } }

/* A transaction of another node. It has read the record before, or writes it unread. */
proctype Holder() {
  byte seen = 0, seen_epoch, seen_value, before;
  atomic { holders_slot = E }
#ifdef REGISTERED_WHEN_LENT
  registered[LENT] = E;
#endif
  if
  :: atomic { !mark && state == 0 -> seen = version; seen_value = value }
  :: skip
  fi;
  if
  :: atomic { state == 0 -> state = 1 }
  :: state != 0 -> goto out
  fi;
  MAY_DIE;
  before = previous;                /* the READ of the header passes over its words one after the other */
  if
  :: atomic { mark -> skip }; state = 0; goto out
  :: atomic { !mark -> seen_epoch = epoch; if :: version != seen -> seen = 0 :: else fi }
  fi;
  if
#ifdef TORN_PREVIOUS_BELIEVED
  :: seen == 0 -> seen_value = value
#else
  :: seen == 0 -> before = previous; seen_value = value   /* READ again: nobody changes it any more */
#endif
  :: else
  fi;
  held_epoch = E;
  if
  :: seen_epoch < held_epoch ->
#ifdef LINKED_BEFORE_COPIED
     previous = LENT; linked = true;
     MAY_DIE;
     copy_aside(LENT, seen_epoch, seen_value, before);
#else
     copy_aside(LENT, seen_epoch, seen_value, before);
     MAY_DIE;
#ifndef LINKED_WITH_WRITE_BACK
     previous = LENT; linked = true;
#endif
#endif
     MAY_DIE
  :: else
  fi;
  if
  :: skip
  :: state = 0; goto used           /* it aborts */
  fi;
  d_step { versions++; held_version = versions; newest[held_epoch] = versions; decided = true };
  MAY_DIE;
  if
  :: value = held_version; MAY_DIE; d_step { epoch = held_epoch; version = held_version; mark = false }
  :: d_step { epoch = held_epoch; version = held_version; mark = false }; MAY_DIE; value = held_version
  fi;
#ifdef LINKED_WITH_WRITE_BACK
  MAY_DIE;
  if :: seen_epoch < held_epoch -> previous = LENT; linked = true :: else fi;
#endif
  MAY_DIE;
  state = 0;
used:
#ifndef REGISTERED_WHEN_LENT
  if :: linked -> registered[LENT] = E :: else fi;
#endif
out:
  holders_slot = OUT;
gone:
  holder_ended = true
}

/* Acts for the holder when it has died and is cut off. */
proctype Recoverer() {
  if
  :: holder_ended && !died -> goto over
  :: holder_ended && died
  fi;
  if
  :: state == 1 && decided -> value = held_version; d_step { epoch = held_epoch; version = held_version; mark = false }; state = 0
  :: state == 1 && !decided -> state = 0
  :: else
  fi;
  if :: registered[LENT] == 0 -> registered[LENT] = E :: else fi;
over:
  skip
}

/* A transaction of the owner, by its own rule (I2). */
proctype Owner() {
  byte seen, seen_epoch, e;
  atomic { owners_slot = E }
  if
  :: atomic { !mark && state == 0 -> mark = true; seen = version; seen_epoch = epoch }
  :: mark || state != 0 -> goto out
  fi;
  if
  :: state != 0 -> atomic { if :: mark && version == seen -> mark = false :: else fi }; goto out
  :: else
  fi;
  if :: !(mark && version == seen) -> goto out :: else fi;
  e = E;
  if
  :: seen_epoch < e -> copy_aside(OWN, seen_epoch, value, previous); previous = OWN
  :: else
  fi;
  d_step { versions++; newest[e] = versions; seen = versions };
  value = seen;
  d_step { epoch = e; version = seen; mark = false };
  if :: seen_epoch < e -> registered[OWN] = e :: else fi;
out:
  owners_slot = OUT;
  owner_ended = true
}

/* The oldest epoch that a snapshot has or may yet get. */
#define OLDEST ((pinned < E - 1) -> pinned : E - 1)

proctype Collector() {
end:
  do
  :: atomic { registered[LENT] != 0 && !freed[LENT] && registered[LENT] < OLDEST -> freed[LENT] = true }
  :: atomic { registered[OWN] != 0 && !freed[OWN] && registered[OWN] < OLDEST -> freed[OWN] = true }
#ifdef COLLECTOR_CUTS_CHAINS
  :: atomic { !mark && epoch < OLDEST -> skip }; previous = 0
#endif
  :: read -> break
  od
}

/* A snapshot reader at the owner. */
proctype Reader() {
  byte snapshot, wanted = 0, e, at, got;
  atomic {
    snapshot = E - 1;
    pinned = snapshot;
    e = 1;
    do
    :: e < snapshot -> if :: newest[e] != 0 -> wanted = newest[e] :: else fi; e++
    :: else -> break
    od
  }
again: skip;
  d_step { e = epoch; got = version };
  if
  :: e >= snapshot ->
     at = previous;
     do
     :: at == 0 -> got = 0; break
     :: at != 0 && kept_epoch[at] >= snapshot -> assert(!freed[at]); at = kept_previous[at]
     :: at != 0 && kept_epoch[at] < snapshot -> assert(!freed[at]); got = kept_value[at]; break
     od
  :: e < snapshot ->
     if
     :: mark || state != 0 -> (!mark && state == 0); goto again
     :: else
     fi;
     at = value;
     if
     :: mark || state != 0 || version != got -> at = 0; goto again
     :: else
     fi;
     got = at
  fi;
  assert(got == wanted);
  pinned = OUT;
  read = true
}

init {
  atomic {
    newest[1] = 1;
    run Epochs(); run Holder(); run Recoverer(); run Owner(); run Collector(); run Reader()
  }
}
