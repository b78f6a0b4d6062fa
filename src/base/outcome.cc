#include <granary/outcome.h>

#include <array>

#include <granary/limits.h>

namespace granary {
namespace {

struct AbortText {
  std::string_view name;
  std::string_view meaning;
  bool retryable;
};

static_assert(kMaxOpenTransactions == 16, "a meaning names it");

// The rows are in the order of AbortReason.
constexpr std::array<AbortText, kAbortReasons> kAborts = {{
    {"none", "committed", false},
    {"user", "the application called abort() or dropped the transaction", false},
    {"read_changed", "a record that was read has been written since; retry", true},
    {"read_locked", "a record that was read is being written by another transaction; retry", true},
    {"node_changed", "a key appeared in a range that was scanned or missed; retry", true},
    {"write_locked", "a record to write stayed locked by another transaction; retry with back-off", true},
    {"record_busy", "a record to read stayed locked by another transaction; retry with back-off", true},
    {"record_replaced", "a record to write was removed or moved before it could be locked; retry", true},
    {"open_too_long", "the transaction was open for more than max_open_epochs; make it shorter, or use a snapshot",
     true},
    {"out_of_memory",
     "the memory limit is reached, of this node or of another one that the transaction writes to; delete data there, "
     "or "
     "raise memory_limit_bytes ('memory' in the cluster file)",
     false},
    {"unique_violation", "a unique secondary index already holds the key", false},
    {"tids_used_up", "the epoch has no greater TID left; retry in the next epoch", true},
    {"epochs_used_up", "E has come to the last epoch there can be: nothing is written any more, reads go on", false},
    {"log_entry_too_large",
     "the transaction writes more, or locks more at other nodes, than a log ring holds; split it, or raise ring_bytes",
     false},
    {"log_failed", "the log could not be written; see the log's status, mend the disk and open the database again",
     false},
    {"remotely_locked", "a record to write stayed locked by another node; retry with back-off", true},
    {"node_unreachable",
     "a node that the transaction needs does not answer, or held a record when it died; see that it runs and is "
     "reached",
     false},
    {"node_recovering",
     "a node that the transaction needs, or that held a record when it died, is being recovered; retry until it serves "
     "again",
     true},
    {"message_too_large",
     "a message to another node would be longer than 256 KiB; declare fewer keys of a table that the transaction scans",
     false},
    {"too_much_undelivered",
     "the worker has left too many records locked at nodes that it cannot reach, and writes at others again once it "
     "could give them back; see that they are reached",
     false},
    {"epochs_apart", "the nodes' epochs did not come together in time; retry, and see whether a node is stalled", true},
    {"lease_expired", "a lease ran out before the transaction had ended; retry, or make it shorter", true},
    {"configuration_changed", "a node joined or left the cluster before the commit; retry", true},
    {"membership_lost",
     "this node is no longer a member of its cluster, and is to be started anew; or ZooKeeper has to be reached again",
     false},
    {"misuse",
     "the transaction had ended already, or belongs to another thread's worker, or to the process of which this one is "
     "a fork; or the worker or the procedure is empty; or 16 transactions of the worker are open already; or there is "
     "no such isolation; or a piece of a chain called commit(), which no piece may, and was aborted; or a table's "
     "placement named a node that the cluster file does not have",
     false},
    {"locked_by_own_worker",
     "another open transaction of the same worker holds a lock that this one needs; end that one first", false},
    {"buffers_used_up",
     "the node's buffers have no room for all records of other nodes that its transactions use at once; use fewer or "
     "smaller ones in a transaction, or raise 'workers' in the cluster file",
     false},
}};

constexpr std::array<std::string_view, 17> kOutcomes = {"ok",
                                                        "not_found",
                                                        "already_exists",
                                                        "aborted",
                                                        "finished",
                                                        "wrong_thread",
                                                        "key_too_long",
                                                        "value_too_large",
                                                        "buffer_too_small",
                                                        "out_of_memory",
                                                        "unknown_table",
                                                        "too_many_accesses",
                                                        "unordered",
                                                        "unreachable",
                                                        "busy",
                                                        "immutable",
                                                        "part_beyond_value"};

}  // namespace

std::string_view name(AbortReason reason) { return kAborts[static_cast<std::size_t>(reason)].name; }
std::string_view meaning(AbortReason reason) { return kAborts[static_cast<std::size_t>(reason)].meaning; }
bool is_retryable(AbortReason reason) { return kAborts[static_cast<std::size_t>(reason)].retryable; }
std::string_view name(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

}  // namespace granary
