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

using messages::QuestionOf;
using messages::ScanEntry;

namespace {

bool before(std::string_view a, std::string_view b, Order order) { return order == Order::kAscending ? a < b : b < a; }

bool inside(std::string_view key, const ScanRange& range) {
  if (key < range.from || (key == range.from && !range.from_inclusive)) return false;
  return !range.to || key < *range.to || (key == *range.to && range.to_inclusive);
}

/// Makes one scan, and is dropped after it.
class RemoteScan {
 public:
  /// `known`: the table or index that is scanned, nullptr if it is not known. `sealed`: it never changes (I31).
  RemoteScan(Footprint& footprint, Reading& reading, const ElsewhereRange& asked, const KnownTable* known, bool sealed,
             ScanFn visit, ScanResult& result)
      : footprint_(footprint),
        reading_(reading),
        asked_(asked),
        known_(known),
        sealed_(sealed),
        leaves_(footprint, reading, asked, known, sealed),
        visit_(visit),
        result_(result),
        own_(footprint.all([&asked](const Access& access) {
          const bool here = access.key.table == &asked.scanned() && access.key.home == asked.home;
          return access.written() && here && inside(access.key.key, asked.range);
        })) {
    std::sort(own_.begin(), own_.end(),
              [&asked](const Access* a, const Access* b) { return before(a->key.key, b->key.key, asked.range.order); });
  }

  AbortReason run() {
    messages::KeyRange rest = messages::range_of(asked_.range);
    rest.limit += std::min(own_.size(), ~std::size_t{0} - asked_.range.limit);
    for (bool more = true; more;) {
      std::optional<ScanPiece> piece;
      AbortReason reason = leaves_.read(rest, piece);
      if (!failed(reason) && !piece) reason = ask(rest, piece);
      if (failed(reason)) return reason;
      for (Access* const access : piece->entries) {
        if (!visit_own_before(access->key.key) || !visit(*access)) return reason_;
      }
      more = piece->more;
    }
    while (next_own_ < own_.size()) {
      if (!visit(*own_[next_own_++])) break;
    }
    return reason_;
  }

 private:
  /// Adds the words of the transaction's x-locks on the table to the question, so that the owner does not take them for
  /// somebody else's. Some 30 000 of them do not fit into a message (kMessageTooLarge). Each question has all of them,
  /// since a visitor may declare more.
  void add_held(std::vector<std::uint64_t>& words) const {
    for (const Access& access : footprint_.accesses) {
      const bool of_table = access.key.table == &asked_.table || access.key.table == &asked_.scanned();
      if (access.x_locked() && of_table && access.key.home == asked_.home) words.push_back(access.lock.word);
    }
    std::sort(words.begin(), words.end());
  }
  /// Asks the owner for a piece, and notes all of it before the visitor is called: the visitor may scan, too, which
  /// overwrites the answer.
  AbortReason ask(messages::KeyRange& rest, std::optional<ScanPiece>& piece) {
    messages::Questions<messages::Scan>& questions = footprint_.trips.questions<messages::Scan>();
    QuestionOf<messages::Scan>& ask = questions.add(asked_.home, {.table = asked_.scanned().id(), .range = rest});
    add_held(ask.request().held);
    footprint_.trips.ask(questions.all());
    AbortReason reason = abort_reason_of(ask, footprint_.reach());
    if (failed(reason)) return reason;
    const messages::ScanAnswer& answer = ask.answer();
    if (known_ != nullptr) learn_leaves(*known_, answer.leaves);
    piece.emplace(ScanPiece{.entries = footprint_.trips.batch<Access*>(answer.entries.size()),
                            .more = answer.more && !answer.entries.empty()});
    const Batch<Access*>& entries = piece->entries;
    reason = adopt_answer(answer, piece->entries);
    if (!failed(reason) && !entries.empty()) rest.advance_behind(entries[entries.size() - 1]->key.key);
    return reason;
  }
  /// Notes an owner's answer in the access table and the node set, and adds the accesses of its entries to `entries`.
  AbortReason adopt_answer(const messages::ScanAnswer& answer, Batch<Access*>& entries) {
    Batch<Access*> without_value = footprint_.trips.batch<Access*>(2 * answer.entries.size());
    const auto open = [&](const txn::TableCore& table, std::string_view key, const messages::SeenRecord& told,
                          Access*& access) {
      const AbortReason reason = footprint_.open({&table, asked_.home, key}, access);
      if (failed(reason) || access->read) return reason;
      access->read = true;
      if (!access->has_record()) reading_.adopt_answer(*access, told);
      without_value.push_back(access);
      return reason;
    };
    for (const ScanEntry& entry : answer.entries) {
      Access* access = nullptr;
      AbortReason reason = open(asked_.scanned(), entry.key, entry.record, access);
      if (!failed(reason)) entries.push_back(access);
      Access* base = nullptr;
      const bool leads = asked_.index != nullptr && access != nullptr && entry.base.offset != 0 && access->had_value();
      if (!failed(reason) && leads) reason = open(asked_.table, access->seen.value, entry.base, base);
      if (failed(reason)) return reason;
    }
    for (const messages::SeenNode& node : answer.nodes) {
      if (sealed_) break;
      if (const AbortReason reason = footprint_.note(asked_.scanned(), asked_.home, node); failed(reason))
        return reason;
    }
    return reading_.fetch_values(without_value);
  }

  /// Visits the transaction's own writes that come before `key`. False to stop.
  bool visit_own_before(std::string_view key) {
    while (next_own_ < own_.size() && before(own_[next_own_]->key.key, key, asked_.range.order)) {
      if (!visit(*own_[next_own_++])) return false;
    }
    if (next_own_ < own_.size() && own_[next_own_]->key.key == key) ++next_own_;
    return true;
  }

  /// Visits one access. False to stop: the limit is reached, the transaction must end, or the visitor has ended it. In
  /// the last case nothing of this object may be used any more but reason_.
  bool visit(const Access& access) {
    if (!access.is_visible()) return true;
    std::string_view key = access.key.key;
    std::string_view value = access.visible_value();
    if (asked_.index != nullptr) {
      Access* base = nullptr;
      reason_ = footprint_.open({&asked_.table, asked_.home, value}, base);
      if (!failed(reason_)) reason_ = reading_.read(*base);
      if (failed(reason_)) return false;
      if (!base->is_visible()) return true;
      key = value;
      value = base->visible_value();
    }
    ++result_.count;
    return visit_(key, value) && result_.count < asked_.range.limit;
  }

  Footprint& footprint_;
  Reading& reading_;
  const ElsewhereRange& asked_;
  const KnownTable* const known_;  ///< the table or index that is scanned
  const bool sealed_;
  LeafScan leaves_;
  const ScanFn visit_;
  ScanResult& result_;
  Batch<Access*> own_;  ///< the transaction's own writes in the range, in its order
  std::size_t next_own_ = 0;
  AbortReason reason_ = AbortReason::kNone;
};

}  // namespace

AbortReason scan(Footprint& footprint, Reading& reading, const ElsewhereRange& asked, ScanFn visit,
                 ScanResult& result) {
  // If the base table is sealed, its indexes are sealed, too: an owner seals the indexes of a table first.
  const KnownTable* known = nullptr;
  bool sealed = false;
  const AbortReason reason = base::injected("scan-who-does-not-serve")
                                 ? footprint.touched.touch(asked.home)
                                 : footprint.enter(asked.home, asked.table, known, sealed);
  if (failed(reason)) return reason;
  if (asked.index != nullptr) known = footprint.reach().directory.find(asked.home, asked.index->id());
  return RemoteScan(footprint, reading, asked, known, sealed, visit, result).run();
}

}  // namespace granary::cluster
