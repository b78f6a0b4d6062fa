/* A leaf of layer 0 under its owner's changes, and a transaction of another node that READs it where it remembers it (I3, I32, I14).
 * kvstore/ordered/leaf_copy.h, make_node in kvstore/ordered/node.h and kvstore/remote/leaf_read.cc are what is modelled.
 *
 * The owner inserts and removes keys, splits the leaf, deletes it, and makes a node of another table in its block. The reader was told of the leaf's
 * birth. It READs the version word, the fields in any order, and the word again; later, at its commit, it READs the word once more. What it takes for
 * found must have been in its table meanwhile, and what it misses must not be there until its commit.
 *
 * Left out: the records behind the entries, layers below, suffixes, interior nodes (they have no leaf bit), and changes of the bounds that add no key.
 *
 * Each -D<NAME> below takes one rule away, and must make the model fail (tests/models/CMakeLists.txt). */

#define DIRTY 1
#define DELETED 2
#define LEAF 4
#define ONE_KEY 8           /* the version word counts keys from here on */
#define FLAGS 7
#define OTHER_TABLE 10      /* added to a key: the entry is of the other table */
#define KEYS 2
#ifdef WHOLE
#define STEPS 4             /* changes by the owner */
#else
#define STEPS 3
#endif

byte version = ONE_KEY + LEAF;
byte birth = 1;
byte high = KEYS + 1;       /* the leaf covers the keys below */
byte order = 0;             /* a bit for each slot that has an entry */
byte slot[2] = 0;

/* What is true, which no reader sees. */
bool there[KEYS + 1];       /* the key is in the reader's table */
bool was_there[KEYS + 1];   /* it has been since the reader's first READ */

inline now_there(key) { there[key] = true; was_there[key] = true }

inline begin_change() { version = version | DIRTY }
inline end_change(counted) { version = (version - (version & DIRTY)) + counted * ONE_KEY }

inline insert(key, at) {
#ifdef STORES_BEFORE_DIRTY
  slot[at] = key;
  begin_change();
#else
  begin_change();
  slot[at] = key;
#endif
  d_step { order = order | (1 << at); now_there(key) }
#ifdef INSERT_KEEPS_COUNT
  end_change(0)
#else
  end_change(1)
#endif
}

/* One word, without the dirty bit. */
inline remove(key, at) { d_step { order = order & ~(1 << at); there[key] = false } }

/* Key 2 goes to a leaf on the right, which is in another block. */
inline split() {
  begin_change();
  high = 2;
  d_step {
    if
    :: (order & 1) && slot[0] == 2 -> order = order & ~1
    :: else
    fi;
    if
    :: (order & 2) && slot[1] == 2 -> order = order & ~2
    :: else
    fi
  }
#ifdef SPLIT_KEEPS_COUNT
  end_change(0)
#else
  end_change(1)
#endif
}

/* A leaf of the other table in the block. Its plain stores may be seen in any order, so both orders are tried of those that matter. */
inline make_node() {
  born = LEAF + ((version / ONE_KEY) + 1) * ONE_KEY;
#ifdef COUNT_RESTARTS
  born = LEAF + ONE_KEY;
#endif
#ifdef BORN_CLEAN
  version = born;
#else
  if
  :: version = born + DIRTY
  :: version = version | DIRTY
  fi;
#endif
  if
  :: slot[0] = 1 + OTHER_TABLE; slot[1] = 2 + OTHER_TABLE; order = 3; high = KEYS + 1; birth = born / ONE_KEY
  :: birth = born / ONE_KEY; high = KEYS + 1; order = 3; slot[1] = 2 + OTHER_TABLE; slot[0] = 1 + OTHER_TABLE
  fi;
  version = born
}

proctype Owner() {
  byte steps = 0, key, at, born;
  bool of_table = true, is_split = false;   /* the block holds the reader's table's leaf; key 2 has left it */
  do
  :: steps == STEPS -> break
  :: steps < STEPS ->
    steps++;
    select(key : 1 .. KEYS);
    if
    :: there[key] && of_table && !(is_split && key == 2) ->
      at = (slot[0] == key && (order & 1) -> 0 : 1);
      remove(key, at)
    :: !there[key] && of_table && !(is_split && key == 2) ->
      at = ((order & 1) -> 1 : 0);
      insert(key, at)
    :: of_table && !is_split -> split(); is_split = true
    :: of_table && order == 0 -> version = version | DELETED; of_table = false
    /* the key's leaf is elsewhere by now */
    :: !there[key] && (!of_table || (is_split && key == 2)) -> d_step { now_there(key) }
    :: there[key] && (!of_table || (is_split && key == 2)) -> there[key] = false
    :: !of_table && (version & DELETED) -> make_node()
    :: skip
    fi
  od
}

proctype Reader() {
  byte key, before, after, again, its_birth, its_high, its_order, its_slot[2], found = 0;
  byte read = 0;                /* a bit for each field */
  byte i;
  select(key : 1 .. KEYS);
  d_step { before = version; was_there[1] = there[1]; was_there[2] = there[2] }
  do
  :: !(read & 1) -> its_birth = birth; read = read | 1
  :: !(read & 2) -> its_high = high; read = read | 2
  :: !(read & 4) -> its_order = order; read = read | 4
  :: !(read & 8) -> its_slot[0] = slot[0]; read = read | 8
  :: !(read & 16) -> its_slot[1] = slot[1]; read = read | 16
  :: read == 31 -> break
  od;
  atomic {
    after = version;
#ifdef ONE_WORD
    before = after;
#endif
    if
    :: before != after || (after & FLAGS) != LEAF -> goto out
    :: else
    fi;
#ifndef BIRTH_IGNORED
    if
    :: its_birth != 1 -> goto out
    :: else
    fi;
#endif
#ifndef BOUND_IGNORED
    if
    :: key >= its_high -> goto out
    :: else
    fi;
#endif
    for (i : 0 .. 1) {
      if
      :: (its_order & (1 << i)) && (its_slot[i] % OTHER_TABLE) == key -> found = its_slot[i]
      :: else
      fi
    }
    if
    :: found != 0 -> assert(found == key && was_there[key]); goto out
    :: else -> assert(!there[key])
    fi
  }
  /* The commit validates the miss. */
  atomic {
    again = version;
    if
    :: again == after -> assert(!there[key])
    :: else
    fi
  }
out: skip
}

init {
  atomic {
    if
    :: order = 1; slot[0] = 1; there[1] = true
    :: order = 2; slot[1] = 2; there[2] = true
    :: skip
    fi;
    run Owner();
    run Reader()
  }
}
