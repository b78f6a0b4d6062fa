#pragma once
// Lists as values of a Granary table: key → the elements, 8 bytes each. An append reads the list and writes a longer one.

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <granary/granary.h>

#include "bench/append/history/history.h"

namespace granary::bench::append {

using history::Element;
using List = std::vector<Element>;

class Lists {
 public:
  explicit Lists(Table table) : table_(table) {}

  /// The list, empty if there is no record; nullopt if the transaction cannot go on. A snapshot is a reader, too.
  template <typename Reader>
  std::optional<List> read(Reader& reader, history::Key key) const {
    std::string bytes;
    const Outcome got = reader.get(table_, encode(key), bytes);
    if (got == Outcome::kNotFound) return List{};
    if (got != Outcome::kOk) return std::nullopt;
    return decode(bytes);
  }

  /// The lists of [first, first + count) by one scan.
  template <typename Reader>
  std::optional<std::vector<List>> scan(Reader& reader, history::Key first, std::size_t count, Order order) const {
    std::vector<List> lists(count);
    const auto low = encode(first), high = encode(first + static_cast<history::Key>(count));
    const ScanResult scanned = reader.scan(table_, {.from = low, .to = high, .order = order},
                                           [&](std::string_view key_bytes, std::string_view value) {
                                             std::uint64_t key = 0;
                                             if (decode_key(key_bytes, key))
                                               lists[key - static_cast<std::uint64_t>(first)] = decode(value);
                                             return true;
                                           });
    if (!scanned) return std::nullopt;
    return lists;
  }

  /// Says beforehand what will be done with these lists (lease_2pl). False if the transaction cannot go on.
  bool declare(Transaction& transaction, std::span<const history::MicroOp> ops) const {
    std::vector<EncodedKey<std::uint64_t>> keys;
    std::vector<Declared> declared;
    keys.reserve(ops.size());
    for (const history::MicroOp& op : ops) {
      keys.push_back(encode(op.key));
      declared.push_back({table_, keys.back(), op.kind == history::MicroOp::Kind::kAppend});
    }
    return transaction.declare(declared) == Outcome::kOk;
  }

  /// The list without the new element, or nullopt if the transaction cannot go on.
  std::optional<List> append(Transaction& transaction, history::Key key, Element element) const {
    std::optional<List> list = read(transaction, key);
    if (!list) return std::nullopt;
    list->push_back(element);
    if (transaction.put(table_, encode(key), bytes_of(*list)) != Outcome::kOk) return std::nullopt;
    list->pop_back();
    return list;
  }

 private:
  static EncodedKey<std::uint64_t> encode(history::Key key) { return encode_key(static_cast<std::uint64_t>(key)); }
  static std::string_view bytes_of(const List& list) {
    return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Element)};
  }
  static List decode(std::string_view bytes) {
    List list(bytes.size() / sizeof(Element));
    if (!list.empty()) std::memcpy(list.data(), bytes.data(), list.size() * sizeof(Element));
    return list;
  }

  Table table_;
};

}  // namespace granary::bench::append
