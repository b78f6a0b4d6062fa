// A snapshot reads at other nodes by message, since one-sided READs cannot follow version chains. If somebody holds a
// record, the owner waits for a moment only, as it has other questions to answer. The node that asks waits, and asks
// again.

#include "src/cluster/transaction/snapshot.h"

#include "src/cluster/messages/range.h"

namespace granary::cluster {

using messages::AskOutcome;
using messages::QuestionOf;
using messages::ReplyStatus;

namespace {

/// How often an owner is asked before a snapshot's read ends as kBusy.
constexpr std::uint32_t kMostAsks = 64;

/// Whether the owner has met a record that somebody holds.
bool busy(const messages::Question* question) {
  return question->outcome() == AskOutcome::kRefused && question->status() == ReplyStatus::kBusy;
}

Outcome outcome_of(const messages::Question& question) {
  if (question.outcome() == AskOutcome::kAnswered) return Outcome::kOk;
  if (question.outcome() == AskOutcome::kAnswerTooLarge) return Outcome::kValueTooLarge;
  if (question.outcome() == AskOutcome::kNoMemory) return Outcome::kOutOfMemory;
  if (question.outcome() != AskOutcome::kRefused) return Outcome::kUnreachable;
  switch (question.status()) {
    case ReplyStatus::kBusy: return Outcome::kBusy;
    case ReplyStatus::kOutOfMemory: return Outcome::kOutOfMemory;
    case ReplyStatus::kNotOrdered: return Outcome::kUnordered;
    case ReplyStatus::kKeyTooLong: return Outcome::kKeyTooLong;
    default: return Outcome::kUnreachable;
  }
}

}  // namespace

/// Asks the questions, and asks those again where the owner has met a record that somebody holds, kMostAsks times at
/// most.
void RemoteSnapshotReads::ask_patiently(std::span<messages::Question* const> questions) {
  open_.assign(questions.begin(), questions.end());
  for (std::uint32_t turn = 0; turn < kMostAsks && !open_.empty(); ++turn) {
    if (turn != 0) reach_.waiter.pause(turn);
    cc::bump(reach_.counters.messages, std::uint64_t{open_.size()});
    reach_.messenger.ask(open_);
    std::erase_if(open_, [](const messages::Question* question) { return !busy(question); });
  }
}

/// An answer counts only if this node is a member after it has come, and so was a member while the owner answered:
/// owners keep old versions only for the snapshots of members (I11).
Outcome RemoteSnapshotReads::told(const messages::Question& question) const {
  const Outcome outcome = outcome_of(question);
  return outcome == Outcome::kOk && cc::may_not_commit(reach_.worker.shared) ? Outcome::kUnreachable : outcome;
}

void RemoteSnapshotReads::get(epoch::Epoch epoch, std::span<txn::RemoteSnapshotGet> gets) {
  gets_.clear();
  for (const txn::RemoteSnapshotGet& get : gets)
    gets_.add(get.key.home, {.table = get.key.table->id(), .key = get.key.key, .epoch = epoch});
  ask_patiently(gets_.all());
  for (std::size_t i = 0; i < gets.size(); ++i) {
    gets[i].outcome = told(gets_[i]);
    if (gets[i].outcome != Outcome::kOk) continue;
    const messages::SnapshotGetAnswer& answer = gets_[i].answer();
    if (!answer.found) gets[i].outcome = Outcome::kNotFound;
    gets[i].value = answer.value;
  }
}

ScanResult RemoteSnapshotReads::scan(epoch::Epoch epoch, const txn::TableCore& table, std::uint16_t home,
                                     const ScanRange& range, ScanFn visit) {
  const messages::SnapshotScan all{.table = table.id(), .range = messages::range_of(range), .epoch = epoch};
  QuestionOf<messages::SnapshotScan>& ask = scans_.add(home, all);
  // Drops the question, also if the visitor throws.
  struct Added {
    messages::Questions<messages::SnapshotScan>& scans;
    ~Added() { scans.drop_last(); }
  } const added{scans_};
  return scan(ask, all, table.base() != nullptr, visit);
}

ScanResult RemoteSnapshotReads::scan(QuestionOf<messages::SnapshotScan>& ask, const messages::SnapshotScan& all,
                                     bool indexed, ScanFn visit) {
  ScanResult result;
  messages::SnapshotScan rest = all;
  messages::Question* const question = &ask;
  for (bool more = true; more && result.count < all.range.limit;) {
    rest.range.limit = all.range.limit - result.count;
    ask.renew(ask.node(), rest);
    ask_patiently({&question, 1});
    result.outcome = told(ask);
    if (!result) return result;
    const messages::SnapshotScanAnswer& piece = ask.answer();
    for (const messages::SnapshotEntry& entry : piece.entries) {
      ++result.count;
      if (!visit(indexed ? entry.primary_key : entry.key, entry.value)) return result;
    }
    more = piece.more && !piece.entries.empty();
    // The question keeps the bytes of the key until it is answered again.
    if (more) rest.range.advance_behind(piece.entries.back().key);
  }
  return result;
}

}  // namespace granary::cluster
