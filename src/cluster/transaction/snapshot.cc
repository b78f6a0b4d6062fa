// Reads of a snapshot at other nodes: by message, since one-sided readers know nothing of version chains. A record that somebody
// holds may keep an answer waiting; an owner, who has others to answer, waits only for a moment, so whoever asks does the waiting.

#include "src/cluster/transaction/snapshot.h"

#include "src/cluster/messages/range.h"

namespace granary::cluster {

using messages::Ask;
using messages::AskOutcome;
using messages::Verdict;

namespace {

/// How often an owner is asked before a snapshot's read ends as kBusy.
constexpr std::uint32_t kMostAsks = 64;

bool busy(const messages::Question* question) {
  return question->outcome() == AskOutcome::kRefused && question->verdict() == Verdict::kBusy;
}

granary::Outcome outcome_of(const messages::Question& question) {
  if (question.outcome() == AskOutcome::kAnswered) return granary::Outcome::kOk;
  if (question.outcome() != AskOutcome::kRefused) return granary::Outcome::kUnreachable;
  switch (question.verdict()) {
    case Verdict::kBusy: return granary::Outcome::kBusy;
    case Verdict::kOutOfMemory: return granary::Outcome::kOutOfMemory;
    case Verdict::kNotOrdered: return granary::Outcome::kUnordered;
    case Verdict::kTooLarge: return granary::Outcome::kValueTooLarge;
    case Verdict::kKeyTooLong: return granary::Outcome::kKeyTooLong;
    default: return granary::Outcome::kUnreachable;
  }
}

}  // namespace

/// Asks again, for a bounded time, where the owner met a record that somebody holds.
void SnapshotsElsewhere::ask_patiently(std::vector<messages::Question*> questions) {
  for (std::uint32_t turn = 0; turn < kMostAsks && !questions.empty(); ++turn) {
    if (turn != 0) reach_.waiter.pause(turn);
    cc::bump(reach_.counters.messages, std::uint64_t{questions.size()});
    reach_.messenger.ask(questions);
    std::erase_if(questions, [](const messages::Question* question) { return !busy(question); });
  }
}

/// Owners keep what the snapshots of members may need. When this node was a member behind the answer, it was so while the owner gave it.
granary::Outcome SnapshotsElsewhere::told(const messages::Question& question) const {
  const granary::Outcome outcome = outcome_of(question);
  return outcome == granary::Outcome::kOk && cc::shut_out(reach_.worker.shared) ? granary::Outcome::kUnreachable
                                                                                : outcome;
}

void SnapshotsElsewhere::get(epoch::Epoch epoch, std::span<txn::RemoteSnapshotGet> gets) {
  std::deque<Ask<messages::SnapshotGet>> questions;
  std::vector<messages::Question*> all;
  for (const txn::RemoteSnapshotGet& get : gets) {
    all.push_back(&questions.emplace_back(
        get.key.home, messages::SnapshotGet{.table = get.key.table->id(), .key = get.key.key, .epoch = epoch}));
  }
  ask_patiently(std::move(all));
  for (std::size_t i = 0; i < gets.size(); ++i) {
    gets[i].outcome = told(questions[i]);
    if (gets[i].outcome != granary::Outcome::kOk) continue;
    messages::SnapshotGetAnswer& answer = questions[i].answer();
    if (!answer.found) gets[i].outcome = granary::Outcome::kNotFound;
    gets[i].value = std::move(answer.value);
  }
}

ScanResult SnapshotsElsewhere::scan(epoch::Epoch epoch, const txn::TableCore& table, std::uint16_t home,
                                    const ScanRange& range, ScanFn visit) {
  ScanResult result;
  messages::Range rest = messages::range_of(range);
  std::string last;
  for (bool more = true; more && result.count < range.limit;) {
    rest.limit = range.limit - result.count;
    Ask<messages::SnapshotScan> ask(home, {.table = table.id(), .range = rest, .epoch = epoch});
    ask_patiently({&ask});
    result.outcome = told(ask);
    if (!result) return result;
    const messages::SnapshotScanAnswer& piece = ask.answer();
    for (const messages::SnapshotEntry& entry : piece.entries) {
      ++result.count;
      if (!visit(table.base() == nullptr ? entry.key : entry.primary_key, entry.value)) return result;
    }
    more = piece.more && !piece.entries.empty();
    if (!more) break;
    last = piece.entries.back().key;
    messages::go_behind(rest, last);
  }
  return result;
}

}  // namespace granary::cluster
