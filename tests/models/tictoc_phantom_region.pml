/* A part of tictoc_phantom.pml: a transaction that inserts X and commits in an HTM region. It reads the words of missed keys before the
 * region, but when its record is in the leaf. In between, whoever misses the key finds that the leaf has changed, or finds the
 * record, whose rts the region looks at. Where the code would go on with locks, it gives up here.
 *
 * The inserter takes the leaf's lock by a compare-and-swap, which all see at once, but which nobody who looks cares for. Its stores into
 * the leaf and the one that unlocks it stay in its processor's store buffer for a while, at the longest until the next full fence:
 * the fetch-or in RegionSteps::plan(), or else the end of the region. With locks, the compare-and-swap of the record's lock bit is that
 * fence. */

proctype StoreBuffer() {
end:
  do
  :: atomic { buffered != NONE -> record = buffered; leaf++; buffered = NONE }
  od
}

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
    :: record == NONE && born < RECORDS -> buffered = born; born++; inserted = true; at = buffered
    :: else -> at = record
    fi
  };
  e = E;
#ifndef NO_FENCE
  buffered == NONE;
#endif
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
    buffered == NONE;
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
