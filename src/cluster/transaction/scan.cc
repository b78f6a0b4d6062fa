// Scans another node's ordered table or secondary index piece by piece. A piece is READ one-sided where the leaves are
// remembered (leaf_scan.h), and otherwise the owner is asked for it. All leaves of a piece go into the node set, and
// all of its records are noted as read. The transaction's own writes are merged into the pieces.

#include "src/cluster/transaction/scan.h"

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cluster/messages/range.h"
#include "src/cluster/transaction/abort_reasons.h"
#include "src/cluster/transaction/leaf_scan.h"

namespace granary::cluster {

using messages::Ask;
using messages::ScanEntry;

namespace {

bool before(std::string_view a, std::string_view b, Order order) { return order == Order::kAscending ? a < b : b < a; }

bool inside(std::string_view key, const ScanRange& range) {
  if (key < range.from || (key == range.from && !range.from_inclusive)) return false;
  return !range.to || key < *range.to || (key == *range.to && range.to_inclusive);
}

/// Makes one scan, and is dropped after it.
class Scanning {
 public:
  /// `known`: the table or index that is scanned, nullptr if it is not known. `sealed`: it never changes (I31).
  Scanning(Footprint& footprint, Reading& reading, const ElsewhereRange& scanned, const KnownTable* known, bool sealed,
           ScanFn visit, ScanResult& result)
      : footprint_(footprint),
        reading_(reading),
        known_(known),
        leaves_(footprint, reading, scanned, known, sealed),
        table_(scanned.table),
        scanned_(scanned.scanned()),
        indexed_(scanned.index != nullptr),
        sealed_(sealed),
        home_(scanned.home),
        range_(scanned.range),
        visit_(visit),
        result_(result),
        own_(footprint.all([this](const Access& access) {
          const bool here = access.key.table == &scanned_ && access.key.home == home_;
          return access.written() && here && inside(access.key.key, range_);
        })) {
    std::sort(own_.begin(), own_.end(),
              [&](const Access* a, const Access* b) { return before(a->key.key, b->key.key, range_.order); });
  }

  AbortReason run() {
    messages::Range rest = messages::range_of(range_);
    rest.limit += std::min(own_.size(), ~std::size_t{0} - range_.limit);
    for (bool more = true; more;) {
      std::optional<Batch<Access*>> entries;
      AbortReason reason = leaves_.read(rest, entries, more);
      if (reason == AbortReason::kNone && !entries) reason = ask(rest, entries, more);
      if (reason != AbortReason::kNone) return reason;
      for (Access* const access : *entries) {
        if (!hand_on_own_before(access->key.key) || !hand_on(*access)) return reason_;
      }
    }
    while (next_own_ < own_.size()) {
      if (!hand_on(*own_[next_own_++])) break;
    }
    return reason_;
  }

 private:
  /// Adds the words of the transaction's x-locks on the table to the question, so that the owner does not take them for
  /// somebody else's. Some 30 000 of them do not fit into a message (kMessageTooLarge). Each question has all of them,
  /// since a visitor may declare more.
  void add_held(std::vector<std::uint64_t>& words) const {
    for (const Access& access : footprint_.accesses) {
      const bool of_table = access.key.table == &table_ || access.key.table == &scanned_;
      if (access.held() && of_table && access.key.home == home_) words.push_back(access.lock.word);
    }
    std::sort(words.begin(), words.end());
  }
  /// Asks the owner for a piece, and notes all of it before the visitor is called: the visitor may scan, too, which
  /// overwrites the answer.
  AbortReason ask(messages::Range& rest, std::optional<Batch<Access*>>& entries, bool& more) {
    messages::Questions<messages::Scan>& questions = footprint_.trips.questions<messages::Scan>();
    Ask<messages::Scan>& ask = questions.add(home_, {.table = scanned_.id(), .range = rest});
    add_held(ask.request().held);
    footprint_.trips.ask(questions.all());
    AbortReason reason = abort_reason_of(ask, footprint_.reach());
    if (reason != AbortReason::kNone) return reason;
    const messages::ScanAnswer& piece = ask.answer();
    if (known_ != nullptr) learn_leaves(*known_, piece.leaves);
    more = piece.more && !piece.entries.empty();
    reason = adopt_piece(piece, entries.emplace(footprint_.trips.batch<Access*>(piece.entries.size())));
    if (reason == AbortReason::kNone && !entries->empty())
      messages::go_behind(rest, (*entries)[entries->size() - 1]->key.key);
    return reason;
  }
  /// Notes a piece in the access table and the node set, and adds the accesses of its entries to `entries`.
  AbortReason adopt_piece(const messages::ScanAnswer& piece, Batch<Access*>& entries) {
    Batch<Access*> without_value = footprint_.trips.batch<Access*>(2 * piece.entries.size());
    const auto open = [&](const txn::TableCore& table, std::string_view key, const messages::SeenRecord& told,
                          Access*& access) {
      const AbortReason reason = footprint_.open({&table, home_, key}, access);
      if (reason != AbortReason::kNone || access->read) return reason;
      access->read = true;
      if (!access->has_record()) reading_.adopt_answer(*access, told);
      without_value.push_back(access);
      return reason;
    };
    for (const ScanEntry& entry : piece.entries) {
      Access* access = nullptr;
      AbortReason reason = open(scanned_, entry.key, entry.record, access);
      if (reason == AbortReason::kNone) entries.push_back(access);
      Access* base = nullptr;
      const bool leads = indexed_ && access != nullptr && entry.base.offset != 0 && access->found();
      if (reason == AbortReason::kNone && leads) reason = open(table_, access->seen.value, entry.base, base);
      if (reason != AbortReason::kNone) return reason;
    }
    for (const messages::SeenNode& node : piece.nodes) {
      if (sealed_) break;
      const AbortReason reason = footprint_.note(scanned_, home_, node);
      if (reason != AbortReason::kNone) return reason;
    }
    return reading_.fetch_values(without_value);
  }

  /// Visits the transaction's own writes that come before `key`. False to stop.
  bool hand_on_own_before(std::string_view key) {
    while (next_own_ < own_.size() && before(own_[next_own_]->key.key, key, range_.order)) {
      if (!hand_on(*own_[next_own_++])) return false;
    }
    if (next_own_ < own_.size() && own_[next_own_]->key.key == key) ++next_own_;
    return true;
  }

  /// Visits one access. False to stop: the limit is reached, the transaction must end, or the visitor has ended it. In
  /// the last case nothing of this object may be used any more but reason_.
  bool hand_on(const Access& access) {
    if (!access.there()) return true;
    std::string_view key = access.key.key;
    std::string_view value = access.visible();
    if (indexed_) {
      Access* base = nullptr;
      reason_ = footprint_.open({&table_, home_, value}, base);
      if (reason_ == AbortReason::kNone) reason_ = reading_.read(*base);
      if (reason_ != AbortReason::kNone) return false;
      if (!base->there()) return true;
      key = value;
      value = base->visible();
    }
    ++result_.count;
    return visit_(key, value) && result_.count < range_.limit;
  }

  Footprint& footprint_;
  Reading& reading_;
  const KnownTable* const known_;  ///< the table or index that is scanned
  LeafScan leaves_;
  const txn::TableCore& table_;
  const txn::TableCore& scanned_;
  const bool indexed_;
  const bool sealed_;
  const std::uint16_t home_;
  const ScanRange& range_;
  const ScanFn visit_;
  ScanResult& result_;
  Batch<Access*> own_;  ///< the transaction's own writes in the range, in its order
  std::size_t next_own_ = 0;
  AbortReason reason_ = AbortReason::kNone;
};

}  // namespace

AbortReason scan(Footprint& footprint, Reading& reading, const ElsewhereRange& scanned, ScanFn visit,
                 ScanResult& result) {
  // If the base table is sealed, its indexes are sealed, too: an owner seals the indexes of a table first.
  const KnownTable* known = nullptr;
  bool sealed = false;
  const AbortReason reason = base::injected("scan-who-does-not-serve")
                                 ? footprint.participants.touch(scanned.home)
                                 : footprint.enter(scanned.home, scanned.table, known, sealed);
  if (reason != AbortReason::kNone) return reason;
  if (scanned.index != nullptr) known = footprint.reach().directory.find(scanned.home, scanned.index->id());
  return Scanning(footprint, reading, scanned, known, sealed, visit, result).run();
}

}  // namespace granary::cluster
