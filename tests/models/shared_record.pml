/* One record of a shared table: workers of its owner, who take the lock bit of the TID word, and workers of other nodes, who
 * take the state word (I2) and write back (I5), beside readers of either kind (I4). src/record/shared_lock.h,
 * src/record/shared_read.cc and src/cluster/record_access are what is modelled.
 *
 * Every write adds 1 to a value of two words. At the end no addition is lost and nobody is left holding the record; no
 * reader has accepted two words of different versions. What was left out: incarnations, aborts of transactions, leases, broken connections.
 *
 * The readers are there with -DREADERS, beside fewer writers. Each other -D<NAME> below takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#ifdef READERS
#define OWNERS 1
#define HOLDERS 1
#else
#define OWNERS 2
#define HOLDERS 2
#endif
#define LOOKS 2     /* of a holder at a lock bit before it lets go */

byte state = 0;                 /* 0 free, else who holds it */
byte tid = 0; bool mark = false; /* the TID word and its lock bit: one word, so always one step */
byte low = 0, high = 0;         /* the value */
byte sum = 0;                   /* checksum of value and TID */
byte added = 0;                 /* additions that were reported as done */
byte working = 0;

#define checksum(t, a, b) ((t) * 16 + (a) * 4 + (b))

/* A commit of the owner. */
proctype Owner() {
  byte seen, was;
  atomic { !mark -> seen = tid }
  atomic {                                           /* CAS of the lock bit */
    if
    :: tid == seen && !mark -> mark = true
    :: else -> goto done
    fi
  }
#ifndef OWNER_IGNORES_STATE
  if
  :: state != 0 -> atomic { if :: tid == seen && mark -> mark = false :: else fi }; goto done
  :: else
  fi;
#endif
#ifndef OWNER_LOOKS_ONCE
  if
  :: !(tid == seen && mark) -> goto done              /* a write-back wiped the bit: not ours any more */
  :: else
  fi;
#endif
  was = low;
  low = was + 1;
  high = was + 1;
  sum = checksum(seen + 1, was + 1, was + 1);
  atomic { tid = seen + 1; mark = false; added++ }
done:
  working--
}

/* Words of one WRITE arrive in any order; storing the TID word wipes a lock bit. */
inline write_back(new, value) {
  byte left = 15;
  do
  :: left & 1 -> low = value; left = left & 14
  :: left & 2 -> high = value; left = left & 13
  :: left & 4 -> sum = checksum(new, value, value); left = left & 11
  :: left & 8 -> atomic { tid = new; mark = false }; left = left & 7
  :: left == 0 -> break
  od
}

proctype Holder(byte me) {
  byte looks = 0, seen, was;
  bool locked;
#ifdef HEADER_BEFORE_LOCK
  d_step { seen = tid; locked = mark }
#endif
  atomic {
    if
    :: state == 0 -> state = me
    :: else -> goto done
    fi
  }
again: skip;
#ifndef HEADER_BEFORE_LOCK
  d_step { seen = tid; locked = mark };               /* a READ of one line: the TID word is one word */
#endif
#ifndef IGNORE_LOCK_BIT
  if
  :: locked && looks < LOOKS -> looks++; goto again
  :: locked -> state = 0; goto done
  :: else
  fi;
#endif
  was = low;
#ifdef UNLOCK_BEFORE_WRITE_BACK
  state = 0;
  write_back(seen + 1, was + 1);
  added++;
#else
  write_back(seen + 1, was + 1);
  atomic { state = 0; added++ }
#endif
done:
  working--
}

/* Of the owner's processor: no checksum, so the order of the loads counts. */
proctype LocalReader() {
  byte before, a, b;
  bool held;
  atomic { before = tid; held = mark };
  if :: held -> goto done :: else fi;
#ifndef READ_LOOKS_LATE
  if :: state != 0 -> goto done :: else fi;
#endif
  a = low;
  b = high;
#ifndef READ_LOOKS_EARLY
  if :: state != 0 -> goto done :: else fi;
#endif
  atomic { if :: tid == before && !mark -> assert(a == b && a == before) :: else fi };
done:
  working--
}

/* Of another node: one READ, whose first line comes in ascending order and whose others at any time. */
proctype RemoteReader() {
  byte t, s, a, b;
  bool l, h;
  if
  :: a = low; h = (state != 0); atomic { t = tid; l = mark }; s = sum; b = high
  :: h = (state != 0); atomic { t = tid; l = mark }; s = sum; a = low; b = high
  :: b = high; a = low; h = (state != 0); atomic { t = tid; l = mark }; s = sum
  fi;
  if
#ifdef SKIP_CHECKSUM
  :: !h && !l -> assert(a == b && a == t)
#else
  :: !h && !l && s == checksum(t, a, b) -> assert(a == b && a == t)
#endif
  :: else
  fi;
  working--
}

init {
  byte i;
  atomic {
    working = OWNERS + HOLDERS;
    i = 0;
    do :: i < OWNERS -> run Owner(); i++ :: else -> break od;
    i = 1;
    do :: i <= HOLDERS -> run Holder(i); i++ :: else -> break od;
#ifdef READERS
    working = working + 2;
    run LocalReader();
    run RemoteReader()
#endif
  };
  working == 0;
  assert(low == added && high == added && tid == added);
  assert(state == 0 && !mark)
}
