#include "src/base/test_hooks.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "src/base/region_mark.h"

namespace granary::base {
namespace {

constexpr KnownBug kBugs[] = {
    {"skip-read-validation", "commit does not compare the TIDs it read"},
    {"skip-own-lock-check", "validation takes a record locked by another transaction as unchanged"},
    {"tictoc-no-freeze", "a TicToc writer does not freeze the rts of what it overwrites"},
    {"tictoc-ignores-rts", "a TicToc writer takes a time at which others have read what it overwrites"},
    {"tictoc-no-floor", "a TicToc transaction may be serial in an earlier epoch"},
    {"tictoc-ignores-miss-times", "a TicToc insert takes a time at which others have missed the key"},
    {"tictoc-extends-blindly", "TicToc raises an rts without looking whether the version is still the latest"},
    {"tictoc-forgets-session", "with session_order a TicToc writer's time may be before its worker's last one"},
    {"tictoc-session-ignores-reads", "or the time of a transaction that only reads"},
    {"tictoc-forgets-absence", "an absent record leaves its index while its absence counts in the present epoch"},
    {"repeatable-read-loses-updates", "repeatable read writes over a value that has changed since it was read"},
    {"unrepeatable-read", "repeatable read may see two versions of one record"},
    {"put-over-unseen-record", "a put to an indexed table goes over a record that it has not found before"},
    {"snapshot-loses-updates", "snapshot isolation writes over a value that has changed since its moment"},
    {"snapshot-reads-unchecked", "snapshot isolation sees values of different moments"},
    {"tictoc-rts-shrinks", "TicToc sets an rts to a transaction's time though it was greater"},
    {"tictoc-forgets-others-rts", "an owner overwrites a shared record at a time at which other nodes have read it"},
    {"tictoc-ignores-remote-rts", "TicToc overwrites another node's record at a time at which others have read it"},
    {"tictoc-believes-rts-under-x-lock", "an owner believes the rts that a holder of the record has yet to clear"},
    {"tictoc-owner-raises-late", "an owner looks at a shared record's locks before it raises the rts, not behind that"},
    {"tictoc-header-before-raising", "TicToc READs the header before it raises the rts of another node's record"},
    {"tictoc-extends-locked", "TicToc raises the rts of another node's record that its owner is overwriting"},
    {"tictoc-tells-no-misses", "a TicToc transaction does not tell another node when it has missed keys there"},
    {"tictoc-ignores-remote-misses",
     "a TicToc insert at another node takes a time at which others have missed the key"},
    {"tictoc-abort-leaves-zero", "an x-lock is given back unchanged without the rts that it had taken the place of"},
    {"tictoc-forgets-held-reads",
     "TicToc lets others overwrite what was x-locked and read at times before the reader's"},
    {"scan-who-does-not-serve", "a node that comes back is scanned before it has all of its data"},
    {"drtm-reads-unwatched", "DrTM reads records past its region, which then does not see who changes them"},
    {"drtm-ignores-lock-bit", "DrTM reads and overwrites records that somebody has claimed"},
    {"drtm-ignores-x-lock", "DrTM reads records that another node has x-locked"},
    {"drtm-skips-lease-check", "DrTM commits behind the end of its leases"},
    {"tictoc-any-end", "TicToc believes an overwritten version valid at times at which it had ended"},
    {"two-pl-shares-everything", "two-phase locking gives a lock to whoever asks for it"},
    {"two-pl-ignores-deadlock", "two-phase locking does not look for deadlocks"},
    {"two-pl-upgrades-late", "two-phase locking shares the lock of a record that is read to be written"},
    {"two-pl-forgets-absence", "an absent record leaves its index while a transaction that has read it holds its lock"},
    {"dta-keeps-intervals", "a DTA commit leaves the intervals of those who have read what it overwrites"},
    {"dta-forgets-rts", "a DTA commit does not tell later writers at what time it has read"},
    {"dta-ignores-wts", "a DTA reader's time may be before that of the version that it has read"},
    {"dta-registers-late", "a DTA reader says only behind the copy that it reads a row"},
    {"dta-marks-late", "a DTA writer looks for a row's readers before it marks the row as being replaced"},
    {"dta-copy-unchecked", "a DTA reader does not look whether the row was replaced while it copied"},
    {"part-without-second-look", "a part of a value is read without a look whether it changed meanwhile"},
    {"part-without-read", "a part is written to a value that the transaction does not rely on"},
    {"part-missing-from-log", "the log has what stood where a part is written"},
    {"replay-part-order", "recovery lets an older part of a value overwrite a newer one"},
    {"replay-part-before-base", "recovery lays a part over a value that was written after it"},
    {"replay-part-without-base", "recovery passes by parts of values that it has not found"},
    {"sealed-table-takes-writes", "a sealed table is written"},
    {"seal-before-writers-end", "a table counts as sealed while transactions are open that have written to it"},
    {"seal-before-durable", "a table is sealed whose rows a recovery may yet lose"},
    {"tictoc-forgets-sealed", "TicToc takes a time before that of what it has seen in sealed tables"},
    {"declared-is-sealed", "an immutable table of another node counts as sealed before its owner has said so"},
    {"immutable-takes-remote-writes", "other nodes write immutable tables, for whom their owner does not wait"},
    {"skip-node-validation", "commit does not check the node set: phantoms"},
    {"read-data-before-version", "a read copies the value before it loads the TID word, and does not check again"},
    {"unlock-without-new-tid", "a committed write leaves the old TID"},
    {"install-before-locks", "a write becomes visible before all locks are taken"},
    {"ignore-observed-tids", "the new TID is not greater than those read"},
    {"snapshot-reads-next", "a snapshot sees one snapshot period too much"},
    {"overwrite-snapshot", "an old version that a snapshot needs is overwritten"},
    {"copy-forgets-older-versions", "a version that is kept of another node's record leads to none before it"},
    {"link-before-copy", "a version that is kept of another node's record is linked before it is there"},
    {"lent-blocks-registered-at-once", "memory that is lent for old versions counts as used before it is"},
    {"free-too-early", "garbage is freed without waiting for its reclamation epoch"},
    {"borrow-too-early", "a worker's memory is borrowed while its thread is in a transaction"},
    {"unhook-changed", "an absent record is unhooked although it was born again"},
    {"insert-keeps-version", "an insert into a leaf does not change its version"},
    {"half-copy", "a read copies only the first cache line"},
    {"region-overwrites-unseen", "a commit in an HTM region does not look at what it overwrites"},
    {"region-ignores-epoch", "nor whether E is still the epoch of its TID"},
    {"wait-in-region", "it waits there (I6)"},
    {"region-leaves-rts", "a commit of TicToc in an HTM region leaves the rts of the version that it overwrites"},
    {"region-raises-no-rts", "nor does it raise the rts of what it has read"},
    {"region-trusts-planned-rts", "nor does it look once more whether its time is after the rts of what it overwrites"},
    {"remove-what-is-owed", "a checkpoint removes the log of a transaction that names locks at other nodes (I10)"},
    {"rotate-without-marker", "a segment that ends within an epoch lacks the marker of the idle epochs before"},
    {"drain-ahead-of-marker", "a logger writes entries of any later epoch before the marker of one"},
    {"ack-before-sync", "the durable epoch is published before the log is synced"},
    {"ignore-sync-error", "a failed sync counts as done"},
    {"give-room-before-sync", "a ring's bytes may be written over once they are in the log file, synced or not"},
    {"ignore-ring-position", "recovery does not look whether the log is there up to where a ring goes on"},
    {"count-end-as-synced", "nor is a log's end written once more whose syncs may have failed"},
    {"salvage-leaves-indexes", "indexes of a salvaged database stay as the log's rest has left them"},
    {"count-link-as-synced", "nor the name of the next segment that a process wrote last"},
    {"ignore-first-segment", "nor whether the first segments are those that the manifest names"},
    {"ignore-next-segment", "nor whether the segment is there in which another says that the log goes on"},
    {"ignore-empty-end", "nor whether all is there that the manifest names of a generation that is over"},
    {"admit-named-generation", "nor whether an older manifest does not know a generation that a newer one has named"},
    {"ignore-stamps",
     "nor whether segments, rings and checkpoints are of the life that the manifest names, or of a copy's"},
    {"adopt-copied-rings", "a copy takes the original's rings for its own"},
    {"ignore-log-owner", "and any log directory, whoever its OWNER file says has it"},
    {"durable-is-greatest", "D is the greatest of what the loggers have, not the least"},
    {"replay-any-order", "recovery does not compare TIDs: the last one replayed wins"},
    {"cut-at-greatest",
     "a cluster without all of its rings goes back to the greatest D of its nodes, not to the least"},
    {"split-loses-key", "the lower half of a checkpoint's range ends before its last key when the range is split"},
    {"replay-past-durable", "recovery replays epochs that were not durable everywhere"},
    {"skip-checksum", "recovery does not check the entries' checksums"},
    {"one-line-version", "a change in a hash bucket is marked in the bucket's first line only"},
    {"owner-ignores-state", "the owner of a shared record does not look whether another node holds it (I2)"},
    {"owner-looks-once", "nor whether its lock bit is still there after that"},
    {"owner-tid-before-state", "validation loads the TID word of a shared record before the state"},
    {"read-ignores-late-lock", "a read of a shared record does not look at the state after the copy"},
    {"unhook-keeps-incarnation", "an unhooked record keeps its incarnation"},
    {"reuse-stores-state", "a reused block gets a new state word"},
    {"skip-directory-sync", "created and renamed files are not made durable in their directory"},
    {"sleep-without-look", "a worker that has said it sleeps does not look once more"},
    {"ring-by-earlier-look", "a sender rings by a READ from before its message"},
    {"sign-before-seal", "it signs before its message is there"},
    {"write-ignores-fence", "a fenced WRITE overtakes READs and atomics"},
    {"completion-before-effect", "a chain completes before its operations took effect"},
    {"torn-header-read", "a READ within a line loads words at different moments"},
    {"broken-goes-on", "what a broken connection has under way happens after its successor is there"},
    {"cut-off-keeps-connections", "the connections of a life that is cut off go on"},
    {"cut-off-without-kill", "its process is not killed, which over shared memory is the only fence"},
    {"skip-remote-checksum", "what is READ of another node's record is taken as whole"},
    {"ignore-incarnation", "it may be another record with the same key, in the same place"},
    {"unlock-before-write-back", "the WRITE of the state word goes before that of the version"},
    {"header-before-lock", "the header is READ before the CAS that x-locks the record"},
    {"tid-before-state", "the TID word is READ before the state word"},
    {"ignore-lock-bit", "a lock bit that is there when the x-lock was taken is taken for one that will go"},
    {"resume-unseen", "after a lost connection an x-lock counts as held without a look at the state word"},
    {"accept-torn-bucket", "a remote lookup does not compare the versions of a bucket's lines"},
    {"stale-leaf-believed", "what is READ in the place of a leaf is taken for that leaf, whatever is there by now"},
    {"torn-leaf-believed", "or for whole, though the leaf was being changed"},
    {"split-leaf-believed", "a leaf that was READ has all keys that it had before it split"},
    {"sweep-takes-torn-lines", "a sweep of the header takes what it has READ of a line while the owner changed it"},
    {"sweep-replaces-entries", "what a sweep finds takes the place of what lookups have remembered"},
    {"locked-read-sees-removed", "a get that locks takes a removed record for one with an empty value"},
    {"moved-means-removed", "and a place where the key's record is not any more for the record's end"},
    {"turns-use-others-transactions", "bodies that take turns may use each other's transactions"},
    {"check-without-location", "the check word of a cached location is the key alone, so it fits another's location"},
    {"skip-message-checksum", "a message is taken as whole, whatever its checksum says"},
    {"ignore-clock-error", "leases are judged by the raw clock (I9)"},
    {"ignore-softtime-age", "a softtime that was not refreshed counts on"},
    {"ignore-clock-jump", "the clock is believed right after it has jumped"},
    {"trust-any-lease-end", "a lease is shared however far ahead its end is, as others take it for over"},
    {"honour-expired-lease", "a lease counts as valid past its end"},
    {"owner-ignores-lease", "the owner changes a record under a lease of another node"},
    {"lease-ignores-lock-bit", "a lease does not wait for the owner's lock bit to go"},
    {"fence-moves-late", "a member tells of a configuration before its fence has moved to it (I11)"},
    {"fence-stays-open", "the fence does not close when the membership is lost"},
    {"end-is-told-once", "a node that could not tell the others of its end never tries again"},
    {"fence-extended-by-read", "what a ZooKeeper server answers from its memory keeps the fence open"},
    {"declined-is-forgotten", "a node that has given up a recovery counts as one that may do it"},
    {"death-before-fence", "a member counts as dead as soon as its mark is missed, when its fence may still be open"},
    {"stamp-before-last-wait",
     "a TID is taken before the last wait, in which another transaction of the worker may take it"},
    {"leave-while-under-way", "a transaction leaves its epoch though what it wrote elsewhere is still under way"},
    {"room-before-last-wait",
     "log room is found before the last wait, in which another transaction of the worker may use it"},
    {"fence-before-last-wait", "a commit does not ask for its node's right behind the last wait"},
    {"fence-ignores-verdict", "a node that others have condemned commits until its own threads have seen it"},
    {"condemn-any-beat", "a node is condemned that has beaten meanwhile"},
    {"count-own-standstill", "what passes while the watcher stands still counts as silence of others"},
    {"change-any-version", "a change to the configuration does not look whether it is still the one that was seen"},
    {"advance-unseen", "the leader advances E without a look at the nodes' open transactions"},
    {"advance-unfinished", "nor does it wait for nodes where E is not there yet"},
    {"durable-of-one-node",
     "D is what the first node's log has, not the least of what the logs of all nodes have (I20)"},
    {"join-from-own-epoch", "a node that joins serves with the E that it came with"},
    {"skip-remote-validation", "a transaction does not look again at records that it READ on other nodes"},
    {"skip-remote-nodes", "nor at the leaves and buckets there"},
    {"made-means-unwritten", "a placeholder that an owner makes for a commit is taken for one that nobody has written"},
    {"skip-epoch-wait", "it does not wait until its participants have reached its epoch"},
    {"epoch-before-locks", "it READs their E before its locks"},
    {"log-after-write-back", "it is logged only when all of its writes are there (I8)"},
    {"name-after-lock", "the lock-ahead record names x-locks only when they have been taken (I10)"},
    {"mark-before-write-back", "the completion mark is there before they have been given back"},
    {"redo-ignores-tid", "who recovers a node writes its version over a newer one (I10)"},
    {"free-by-node", "and frees records that any other transaction of the node held"},
    {"enter-without-look", "a transaction does not read E again when it has published its e_w (I13)"},
    {"pin-without-look", "a snapshot does not look at the limit of snapshots again when it has pinned its epoch (I17)"},
    {"answer-without-pin", "an owner does not keep what it reads for another node's snapshot (I17)"},
    {"answer-snapshot-before-load", "a node that was loaded anew answers snapshots that began before (I16)"},
    {"ask-whoever-answers", "a worker asks the life that it has connected to, which may have yet to load (I16)"},
    {"leave-before-commit", "its e_w ends when its commit begins"},
    {"nobody-is-cut-off", "a survivor acts without a dead node that it has not cut off (I27)"},
    {"recoverer-without-fence", "a recoverer goes on for a dead node though its own fence has shut (I27)"},
    {"recover-from-older-copy", "a dead node is recovered from a directory of an earlier life"},
    {"keep-former-tables", "the tables of a life that is over are used until the next one serves (I27)"},
    {"quiet-by-former-epoch", "a survivor that becomes quiet says the epoch that it said the last time (I27)"},
    {"durable-while-owed", "D goes on while a dead node owes what may be in its rings only (I27)"},
    {"quiet-at-once", "a survivor says that it is quiet while its earlier transactions are under way"},
    {"two-finish-a-call", "a call that was left half done is given to every thread that asks for it"},
    {"claim-before-quiet", "a recovery is claimed before all are quiet"},
    {"claim-before-claimer-is-cut", "or while the life that had claimed it before may still be at work"},
    {"join-with-older-data", "a node joins with data of a life before its last one"},
    {"join-without-data", "or without any, though it has served with data"},
    {"tictoc-shows-removals-early", "a result that rests on a removal is shown before that is durable"},
    {"tictoc-ties-late", "a read holds without an rts at times at which others may overwrite it earlier"},
    {"tictoc-validates-ahead", "an rts is raised to an epoch that the node has not reached"},
    {"recover-without-data", "a dead node whose manifest is missing is taken for one that had no data"},
    {"others-data-unchecked", "a node recovers with other nodes' directories of whatever life"},
    {"cut-below-released", "a cluster goes back below what is known to have been released"},
    {"empty-generation-counts", "the log of a node that was never let in says how far the others' logs count"},
};

// The number of the injected bug, or 0 for none. A test writes it before it starts threads, so relaxed suffices.
std::atomic<std::uint64_t> current_bug{0};
thread_local SyncHook sync_hook;
SyncHook process_sync_hook;  // it is written before there are threads that read it

}  // namespace

std::vector<KnownBug> known_bugs() { return {std::begin(kBugs), std::end(kBugs)}; }

bool inject_bug(std::string_view name) {
  const bool known =
      std::any_of(std::begin(kBugs), std::end(kBugs), [&](const KnownBug& bug) { return bug.name == name; });
  if (!kTestHooks || (!known && !name.empty())) return false;
  current_bug.store(known ? BugName::hash(name) : 0, std::memory_order_relaxed);
  return true;
}

std::string_view injected_bug() {
  for (const KnownBug& bug : kBugs) {
    if (is_injected(BugName::hash(bug.name))) return bug.name;
  }
  return {};
}

bool is_injected(std::uint64_t number) { return current_bug.load(std::memory_order_relaxed) == number; }

void set_sync_hook(SyncHook hook) { sync_hook = std::move(hook); }
void set_process_sync_hook(SyncHook hook) { process_sync_hook = std::move(hook); }
void run_sync_hook(std::string_view point) {
  const SyncHook& hook = sync_hook ? sync_hook : process_sync_hook;
  if (!hook) return;
  const RegionPause another_thread_could_do_this;
  hook(point);
}

}  // namespace granary::base
