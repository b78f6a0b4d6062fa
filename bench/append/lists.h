#pragma once
// Lists as values of a Granary table: the key leads to the elements, of 8 bytes each. An append reads the list and
// writes a longer one.
//
// To have records removed and born again, a list may move between two keys of its own, so that it is at one of them or
// at none; a reader looks at both. To have records written blindly, each append may also write its element into a third
// record, the list's last element, without reading that. So this record has the versions of the list.

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/granary.h>

#include "bench/append/history/history.h"

namespace granary::bench::append {

using history::Element;
using List = std::vector<Element>;

struct ListLayout {
  bool moves = false;  ///< whether lists may be at the second of their places
  bool lasts = false;  ///< whether each has a record with its last element
};

class Lists {
 public:
  explicit Lists(Table table, ListLayout layout = {}) : table_(table), layout_(layout) {}

  const ListLayout& layout() const { return layout_; }
  /// Returns the list's number in a record's key, for a table's placement; 0 if it is no key of a list.
  static std::uint64_t number_of(std::string_view key_bytes) {
    std::uint64_t number = 0;
    static_cast<void>(decode_key(key_bytes.substr(0, sizeof number), number));
    return number;
  }

  /// Returns the key of the record that a list has unless it has moved.
  static std::string first_key(history::Key key) { return record_key(key, kPlaces[0]); }

  /// Returns the list, empty if there is no record; nullopt if the transaction cannot go on. A snapshot is a reader,
  /// too. If the list is at both of its places, which no transaction may see and commit, the elements of both are
  /// returned.
  template <typename Reader>
  std::optional<List> read(Reader& reader, history::Key key) const {
    std::optional<Found> found = find(reader, key);
    if (!found) return std::nullopt;
    return std::move(found->list);
  }

  /// Returns the last element alone, from its record.
  template <typename Reader>
  std::optional<List> last(Reader& reader, history::Key key) const {
    return get(reader, record_key(key, kLast));
  }

  /// Returns the lists of [first, first + count), by one scan.
  template <typename Reader>
  std::optional<std::vector<List>> scan(Reader& reader, history::Key first, std::size_t count, Order order) const {
    std::vector<List> lists(count);
    const auto low = encode(first), high = encode(first + static_cast<history::Key>(count));
    const ScanResult scanned = reader.scan(
        table_, {.from = low, .to = high, .order = order}, [&](std::string_view key_bytes, std::string_view value) {
          if (key_bytes.back() == kLast) return true;
          List& list = lists[number_of(key_bytes) - static_cast<std::uint64_t>(first)];
          const List elements = decode(value);
          list.insert(list.end(), elements.begin(), elements.end());
          return true;
        });
    if (!scanned) return std::nullopt;
    return lists;
  }

  /// Declares beforehand what the transaction will do with these lists (lease_2pl). Returns false if it cannot go on.
  bool declare(Transaction& transaction, std::span<const history::MicroOp> ops) const {
    std::deque<std::string> keys;
    std::vector<Declared> declared;
    for (const history::MicroOp& op : ops) {
      const bool appends = op.kind == history::MicroOp::Kind::kAppend;
      const bool only_last = op.kind == history::MicroOp::Kind::kReadLast;
      for (const char place : only_last ? std::string_view() : places())
        declared.push_back({table_, keys.emplace_back(record_key(op.key, place)), appends});
      if (only_last || (appends && layout_.lasts))
        declared.push_back({table_, keys.emplace_back(record_key(op.key, kLast)), appends});
    }
    return transaction.declare(declared) == Outcome::kOk;
  }

  /// Appends the element, and returns the list without it, or nullopt if the transaction cannot go on. If `move`, the
  /// list moves to its other place, if it is at one.
  std::optional<List> append(Transaction& transaction, history::Key key, Element element, bool move = false) const {
    std::optional<Found> found = find(transaction, key);
    if (!found) return std::nullopt;
    char place = found->place == 0 ? kPlaces[0] : found->place;
    if (move && found->place != 0) {
      if (transaction.remove(table_, record_key(key, place)) != Outcome::kOk) return std::nullopt;
      place = place == kPlaces[0] ? kPlaces[1] : kPlaces[0];
    }
    found->list.push_back(element);
    if (!write(transaction, key, place, found->list)) return std::nullopt;
    found->list.pop_back();
    return std::move(found->list);
  }

 private:
  /// The ends of records' keys, which follow the list's number.
  static constexpr std::string_view kPlaces = "ab";
  static constexpr char kLast = 'z';

  struct Found {
    char place = 0;  ///< 0 if it is at none
    List list = {};
  };

  /// Writes the list, and its last element if there is a record for that: the two together at odd elements, one after
  /// the other at even ones.
  bool write(Transaction& transaction, history::Key key, char place, const List& list) const {
    const std::string whole_key = record_key(key, place), last_key = record_key(key, kLast);
    const std::string_view whole = bytes_of(list), last = whole.substr(whole.size() - sizeof(Element));
    if (layout_.lasts && list.back() % 2 != 0) {
      std::array<MultiPut, 2> puts{{{table_, whole_key, whole}, {table_, last_key, last}}};
      return transaction.multi_put(puts) == Outcome::kOk && puts[0].outcome == Outcome::kOk &&
             puts[1].outcome == Outcome::kOk;
    }
    return transaction.put(table_, whole_key, whole) == Outcome::kOk &&
           (!layout_.lasts || transaction.put(table_, last_key, last) == Outcome::kOk);
  }

  std::string_view places() const { return layout_.moves ? kPlaces : kPlaces.substr(0, 1); }

  /// Finds the list at either of its places.
  template <typename Reader>
  std::optional<Found> find(Reader& reader, history::Key key) const {
    Found found;
    for (const char place : places()) {
      const std::optional<List> list = get(reader, record_key(key, place));
      if (!list) return std::nullopt;
      if (list->empty()) continue;
      found.place = place;
      found.list.insert(found.list.end(), list->begin(), list->end());
    }
    return found;
  }

  /// Returns one record's elements, none if there is no such record.
  template <typename Reader>
  std::optional<List> get(Reader& reader, const std::string& key) const {
    std::string bytes;
    const Outcome got = reader.get(table_, key, bytes);
    if (got == Outcome::kNotFound) return List{};
    if (got != Outcome::kOk) return std::nullopt;
    return decode(bytes);
  }

  static EncodedKey<std::uint64_t> encode(history::Key key) { return encode_key(static_cast<std::uint64_t>(key)); }
  static std::string record_key(history::Key key, char end) { return std::string(std::string_view(encode(key))) + end; }
  static std::string_view bytes_of(const List& list) {
    return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Element)};
  }
  static List decode(std::string_view bytes) {
    List list(bytes.size() / sizeof(Element));
    if (!list.empty()) std::memcpy(list.data(), bytes.data(), list.size() * sizeof(Element));
    return list;
  }

  Table table_;
  ListLayout layout_;
};

}  // namespace granary::bench::append
