#include "kvstore/hash/change.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::kvstore::hash {

using base::injected;
using base::load_word;
using base::store_word;

/// Takes the lock. The acquire load pairs with the release store by which the previous holder released `opened` of line
/// 0.
Change::Change(const Table& table, Bucket& main) : table_(table), main_(main) {
  for (Backoff backoff;; backoff.pause()) {
    before_ = load_word(&main.lines[0].opened);
    if (!is_odd(before_) && base::compare_exchange_word(&main.lines[0].opened, before_, before_ + 1)) break;
  }
  after_ = before_;
}

/// Releases the lock, which is `opened` of line 0. So that word is stored last, after all other stores of this change.
Change::~Change() {
  base::debug_invariant("I22", [&] { return load_word(&main_.lines[0].opened) == before_ + 1 && !is_odd(after_); });
  if (changes_) {
    base::debug_invariant("I22", [&] { return all_lines_odd(); });
    base::sync_point("hash.closing");
    for_each_line([&](Line& line) {
      store_word(&line.closed, after_);
      if (&line != &main_.lines[0]) store_word(&line.opened, after_);
    });
  }
  store_word(&main_.lines[0].opened, after_);
}

template <typename Do>
void Change::for_each_line(Do&& act) {
  for (Bucket* bucket = &main_; bucket != nullptr; bucket = table_.next(*bucket)) {
    for (Line& line : bucket->lines) act(line);
  }
}

bool Change::all_lines_odd() {
  bool all = true;
  for_each_line([&](const Line& line) { all = all && load_word(&line.opened) == before_ + 1; });
  return all;
}

Slot* Change::find(const HashedKey& key) const {
  for (Bucket* bucket = &main_; bucket != nullptr; bucket = table_.next(*bucket)) {
    for (unsigned i = 0; i < kSlots; ++i) {
      Slot& slot = bucket->slot(i);
      if (load_word(&slot.key) == key.word && table_.leads_to(Entry(load_word(&slot.entry)), key)) return &slot;
    }
  }
  return nullptr;
}

Slot* Change::free_slot(unsigned home) const {
  for (Bucket* bucket = &main_; bucket != nullptr; bucket = table_.next(*bucket)) {
    for (unsigned step = 0; step < kLines; ++step) {
      const unsigned number = line_at(home, step);
      for (unsigned i = 0; i < slots_in(number); ++i) {
        Slot& slot = bucket->lines[number].slots[i];
        if (Entry(load_word(&slot.entry)).type() == EntryType::kUnused) return &slot;
      }
    }
  }
  return nullptr;
}

void Change::open() {
  after_ = injected("insert-keeps-version") ? before_ : before_ + 2;
  changes_ = true;
  if (!injected("one-line-version")) for_each_line([&](Line& line) { store_word(&line.opened, before_ + 1); });
  base::sync_point("hash.opened");
}

/// Makes the header's lines odd before any reader can reach them.
void Change::append(Bucket& header) {
  base::invariant("I22", changes_);
  header = {};
  for (Line& line : header.lines) {
    store_word(&line.closed, before_);
    store_word(&line.opened, before_ + 1);
  }
  Bucket* last = &main_;
  for (Bucket* bucket = last; bucket != nullptr; bucket = table_.next(*bucket)) last = bucket;
  store_word(&last->link(), Entry(EntryType::kHeader, table_.offset_of(&header), 0).word());
}

}  // namespace granary::kvstore::hash
