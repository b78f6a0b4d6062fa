/* A part of tictoc_phantom.pml: a transaction that inserts X and commits in an HTM region. It reads the words of missed keys before the
 * region, but when its record is in the leaf. In between, whoever misses the key finds that the leaf has changed, or finds the
 * record, whose rts the region looks at. Where the code would go on with locks, it gives up here. */

proctype RegionInserter(byte me) {
  byte at, e, before, words;
  bool inserted;
  e_w[me] = E;
#ifdef WORDS_BEFORE_INSERT
  read_words();
#endif
  atomic {
    if
    :: record == NONE && born == RECORDS -> goto undo
    :: record == NONE && born < RECORDS -> put_into_leaf(); inserted = true
    :: else
    fi;
    at = record
  };
  e = E;
  atomic {
    if :: locked[at] || superseded[at] || present[at] -> goto undo :: else fi;
    FOUND(X) = key_tid
  };
#ifndef WORDS_BEFORE_INSERT
#ifdef ONLY_INSERTER_READS_WORDS
  if :: inserted -> read_words() :: else fi;
#else
  if :: tid[at] == 0 -> read_words() :: else fi;
#endif
#endif
  before = rts[at] & ~FROZEN;
  atomic {
    COMMIT_TS = MAX(before, tid[at]) + 1;
    NOT_BELOW(words);
    COMMIT_TS = MAX(COMMIT_TS, TIME(e, 1));
    if :: EPOCH(COMMIT_TS) > e -> goto undo :: else fi
  };
  atomic {
    if :: E != e || locked[at] || superseded[at] || present[at] || key_tid != FOUND(X) -> goto undo :: else fi;
    if :: rts[at] >= COMMIT_TS -> goto undo :: else fi;
    decide();
    assert(COMMIT_TS > key_tid);
    rts[at] = COMMIT_TS; tid[at] = COMMIT_TS; key_tid = COMMIT_TS; present[at] = true
  };
  goto done;
undo: skip;
  d_step { FOUND(X) = 0; COMMIT_TS = 0 };
done:
  atomic { e_w[me] = NONE; working--; at = 0; e = 0; before = 0; words = 0; inserted = false }
}
