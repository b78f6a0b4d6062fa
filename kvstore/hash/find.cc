// Looks up single keys.

#include <algorithm>
#include <vector>

#include "kvstore/common/backoff.h"
#include "kvstore/hash/table.h"

namespace granary::kvstore::hash {

using base::load_word;

/// Looks for the key in one line. It reads the line's words in ascending order, so at the end `opened` shows whether
/// the line changed meanwhile.
inline Table::Sight Table::look(const Bucket& bucket, unsigned number, const HashedKey& key) const {
  const Line& line = bucket.lines[number];
  Sight sight;
  sight.version = load_word(&line.closed);
  for (unsigned i = 0; i < slots_in(number); ++i) {
    if (load_word(&line.slots[i].key) != key.word) continue;
    const Entry entry(load_word(&line.slots[i].entry));
    if (!leads_to(entry, key)) continue;
    sight.entry = entry;
    break;
  }
  sight.stable = load_word(&line.opened) == sight.version && !is_odd(sight.version);
  return sight;
}

/// Looks for the key in a chain. Returns false if the chain changed meanwhile. A hit counts if its own line is stable.
/// A miss counts only if all lines were there at once. Links are only ever added, so a bucket without a link had none
/// at any earlier version.
inline bool Table::look_through(const Bucket& main, unsigned home, const HashedKey& key, Lookup* result) const {
  bool first = true;
  for (const Bucket* bucket = &main; bucket != nullptr; bucket = next(*bucket)) {
    for (unsigned step = 0; step < kLines; ++step) {
      const Sight sight = look(*bucket, line_at(home, step), key);
      if (!sight.stable || (!first && sight.version != result->version)) return false;
      first = false;
      result->version = sight.version;
      if (sight.entry.type() == EntryType::kUnused) continue;
      result->value = value_of(sight.entry);
      result->incarnation = sight.entry.incarnation();
      return true;
    }
  }
  return true;
}

Lookup Table::find(const HashedKey& key, Home home) const {
  Lookup result{.bucket = &main_[home.bucket]};
  for (Backoff backoff; !look_through(*result.bucket, home.line, key, &result); backoff.pause()) {
  }
  return result;
}

Lookup Table::find(std::string_view key) const {
  const HashedKey hashed(key);
  return find(hashed, home_of(hashed.word));
}

bool Table::try_find(std::string_view key, Lookup* result) const {
  const HashedKey hashed(key);
  const Home home = home_of(hashed.word);
  *result = {.bucket = &main_[home.bucket]};
  return look_through(*result->bucket, home.line, hashed, result);
}

void Table::find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const {
  constexpr std::size_t kInFlight = 16;
  for (std::size_t from = 0; from < keys.size(); from += kInFlight) {
    const std::size_t to = std::min(from + kInFlight, keys.size());
    for (std::size_t i = from; i < to; ++i) {
      const Home home = home_of(HashedKey(keys[i]).word);
      base::prefetch(&main_[home.bucket].lines[home.line]);
    }
    for (std::size_t i = from; i < to; ++i) {
      results[i] = find(keys[i]);
      if (results[i].value != 0) base::prefetch(reinterpret_cast<const void*>(results[i].value));
    }
  }
}

Lookup Table::find_in_turns(std::string_view key, FunctionRef<void()> turn) const {
  const HashedKey hashed(key);
  const Home home = home_of(hashed.word);
  base::prefetch(&main_[home.bucket].lines[home.line]);
  turn();
  const Lookup found = find(hashed, home);
  if (found.value != 0) {
    base::prefetch_range(reinterpret_cast<const void*>(found.value), 2 * base::kCacheLine);
    turn();
  }
  return found;
}

unsigned Table::reads_to_find(std::string_view key) const {
  const HashedKey hashed(key);
  unsigned reads = 1;
  for (const Bucket* bucket = &main_[home_of(hashed.word).bucket]; bucket != nullptr; bucket = next(*bucket), ++reads) {
    for (unsigned line = 0; line < kLines; ++line) {
      if (look(*bucket, line, hashed).entry.type() != EntryType::kUnused) return reads;
    }
  }
  return kNotFound;
}

void Table::visit(std::uint64_t first, std::uint64_t last,
                  FunctionRef<void(std::string_view key, Value value)> each) const {
  std::vector<Slot> seen;
  const auto collect = [&](const Bucket& main) {
    seen.clear();
    const Version version = load_word(&main.lines[0].closed);
    for (const Bucket* bucket = &main; bucket != nullptr; bucket = next(*bucket)) {
      for (unsigned line = 0; line < kLines; ++line) {
        const Line& from = bucket->lines[line];
        const Version closed = load_word(&from.closed);
        for (unsigned i = 0; i < slots_in(line); ++i) {
          seen.push_back({load_word(&from.slots[i].key), load_word(&from.slots[i].entry)});
        }
        if (closed != version || load_word(&from.opened) != version || is_odd(version)) return false;
      }
    }
    return true;
  };
  for (std::uint64_t number = first; number < last; ++number) {
    for (Backoff backoff; !collect(main_[number]); backoff.pause()) {
    }
    for (const Slot& slot : seen) {
      const Entry entry(slot.entry);
      if (entry.type() == EntryType::kUnused) continue;
      const bool named = entry.type() == EntryType::kNamed;
      each(named ? at<Name>(entry.offset())->key()
                 : std::string_view(reinterpret_cast<const char*>(&slot.key), sizeof slot.key),
           value_of(entry));
    }
  }
}

}  // namespace granary::kvstore::hash
