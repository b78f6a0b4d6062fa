/* A chain of a hash index as another node READs it (kvstore/hash/bucket.h, change.cc, kvstore/remote/lookup.cc): two lines, each
 * between two version words, brought by READs at any time and in any order. A line is loaded ascending: closed, slot, opened.
 *
 * A writer moves key 1 between the lines, and in between puts key 2 into its place: a reader never misses key 1, and never takes
 * another key's entry for its. With -DINSERT key 1 is not there at first: a reader that misses it and finds the version
 * unchanged afterwards can rely on that.
 *
 * Each other -D<NAME> takes one rule away, and must make the model fail. */

#define LINES 2

byte closed[LINES], opened[LINES];
byte key[LINES], entry[LINES];          /* the entry of key n is n; 0: none */

/* The lock: line 0's opened word becomes odd. There is one writer here. */
inline begin_change() {
  opened[0] = opened[0] + 1;
#ifndef ONE_LINE_VERSION
  opened[1] = opened[0];
#endif
}

inline end_change() {
#ifdef KEEPS_VERSION
  version = opened[0] - 1;
#else
  version = opened[0] + 1;
#endif
  closed[0] = version;
#ifndef ONE_LINE_VERSION
  closed[1] = version;
  opened[1] = version;
#endif
  opened[0] = version
}

inline put(line, what) {
  if
  :: key[line] = what; entry[line] = what
  :: entry[line] = what; key[line] = what
  fi
}

proctype Writer() {
  byte version;
#ifdef INSERT
  begin_change(); put(1, 1); end_change();
#else
  begin_change(); put(0, 1); put(1, 2); end_change();
  begin_change(); put(1, 1); put(0, 2); end_change();
#endif
}

proctype Reader() {
  byte first, last, found = 0, line, step = 0;
  bool stable[LINES];
  byte seen[LINES];
  byte version[LINES];
  if :: line = 0 :: line = 1 fi;
  do
  :: step < LINES ->
#ifdef READ_DESCENDING
     last = opened[line];
#else
     first = closed[line];
#endif
     seen[line] = key[line];
     if :: seen[line] == 1 -> found = entry[line] :: else fi;
#ifdef READ_DESCENDING
     first = closed[line];
#else
     last = opened[line];
#endif
     stable[line] = (first == last && (last & 1) == 0);
     version[line] = last;
     if
     :: seen[line] == 1 && stable[line] -> assert(found == 1); goto done
     :: else
     fi;
     line = 1 - line;
     step++
  :: else -> break
  od;
#ifdef TRUSTS_ONE_LINE
  if :: stable[0] && seen[0] != 1 && seen[1] != 1 ->
#else
  if :: stable[0] && stable[1] && version[0] == version[1] && seen[0] != 1 && seen[1] != 1 ->
#endif
#ifdef INSERT
     atomic { if :: opened[0] == version[0] -> assert(key[1] != 1) :: else fi }
#else
     assert(false)
#endif
  :: else
  fi;
done: skip
}

init {
  atomic {
#ifndef INSERT
    key[1] = 1; entry[1] = 1;
#endif
    run Writer(); run Reader(); run Reader()
  }
}
