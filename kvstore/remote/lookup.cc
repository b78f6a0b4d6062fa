#include "kvstore/remote/lookup.h"

#include <bit>
#include <cstddef>

#include "src/base/test_hooks.h"

namespace granary::kvstore::remote {

using base::injected;
using hash::Entry;
using hash::EntryType;
using hash::Line;
using rdma::Operation;
using rdma::fiber::Next;

Lookup::Lookup(const RemoteTable& table, std::string_view key, void* buffer)
    : Step(table.main),
      table_(&table),
      key_(key),
      home_(key_.word, table.buckets),
      buffer_(buffer),
      at_(bucket()),
      remembered_(at_.offset) {}

std::uint64_t* Lookup::version_word() const {
  return reinterpret_cast<std::uint64_t*>(static_cast<hash::Bucket*>(buffer_) + 1);
}
hash::Name* Lookup::name() const {
  return reinterpret_cast<hash::Name*>(reinterpret_cast<char*>(version_word()) + base::kCacheLine);
}
std::uint32_t Lookup::name_bytes() const {
  return static_cast<std::uint32_t>(sizeof(hash::Name) + base::round_up_to_word(key_.bytes.size()));
}

void Lookup::append(std::vector<Operation>& chain) {
  if (!name_entry_) {
    chain.emplace_back() = Operation::read(buffer_, at_, sizeof(hash::Bucket));
    return;
  }
  chain.emplace_back() = Operation::read(name(), table_->at(name_entry_->offset()), name_bytes());
  // READs of a connection take effect in order, so an unchanged version confirms the name.
  chain.emplace_back() = Operation::read(version_word(), bucket().plus(offsetof(Line, opened)), base::kWord);
}

Next Lookup::interpret() {
  if (name_entry_) {
    reads_ += 2;
    return look_at_name();
  }
  ++reads_;
  position_ = {};
  torn_ = false;
  return search();
}

/// Searches the copy of the bucket, from `position_` on.
Next Lookup::search() {
  for (; position_.step < hash::kLines; ++position_.step, position_.slot = 0) {
    const unsigned number = hash::line_at(home_.line, position_.step);
    const Line& line = copy().lines[number];
    const bool whole = (line.closed == line.opened && !hash::is_odd(line.closed)) || injected("accept-torn-bucket");
    if (!version_) version_ = line.closed;
    torn_ = torn_ || !whole || (line.closed != *version_ && !injected("accept-torn-bucket"));
    for (; whole && position_.slot < hash::slots_in(number); ++position_.slot) {
      const hash::Slot& slot = line.slots[position_.slot];
      const Entry entry(slot.entry);
      if (slot.key != key_.word || entry.type() != key_.type()) continue;
      incarnation_ = entry.incarnation();
      if (entry.type() == EntryType::kRecord) return hit(entry.offset());
      name_entry_ = entry;
      line_version_ = line.closed;
      return Next::kAtOnce;
    }
  }
  return torn_ ? begin_anew() : follow(Entry(copy().link()));
}

/// Goes on with the next bucket of the chain. All lines so far have one version, so the link is of that version, too.
///
/// Chains have no circles, but the owner's memory may be damaged. So the lookup remembers a bucket of the chain, and
/// another one each time that it has followed twice as many links. It begins anew if a link leads back to the
/// remembered bucket (Brent's algorithm).
Next Lookup::follow(Entry link) {
  if (link.type() != EntryType::kHeader) return end(LookupOutcome::kMiss);
  if (link.offset() == remembered_) return begin_anew();
  if (std::has_single_bit(++links_)) remembered_ = link.offset();
  at_ = table_->at(link.offset());
  return Next::kAtOnce;
}

Next Lookup::look_at_name() {
  name_entry_.reset();
  if (*version_word() != line_version_) return begin_anew();
  if (name()->size == key_.bytes.size() && name()->key() == key_.bytes) {
    return hit((name()->value - table_->owner_base) & hash::kOffsetMask);
  }
  ++position_.slot;  // another key with this fingerprint
  return search();
}

Next Lookup::hit(std::uint64_t offset) {
  offset_ = offset;
  return end(LookupOutcome::kHit);
}

Next Lookup::begin_anew() {
  if (++tries_ >= kTries) return end(LookupOutcome::kBusy);
  at_ = bucket();
  remembered_ = at_.offset;
  links_ = 0;
  version_.reset();
  return Next::kAfterPause;
}

Next Lookup::end(LookupOutcome outcome) {
  outcome_ = outcome;
  return Next::kEnded;
}

}  // namespace granary::kvstore::remote
