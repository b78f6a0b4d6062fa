#pragma once
// How the lists of an AppendWorld are read, by a transaction or a snapshot. A list is a record, at one of several keys
// if lists move.

#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/granary.h>
#include <granary/key.h>

#include "bench/append/history/history.h"

namespace granary::cluster::test {

/// A list's number is its home and its number there; those of a node are together.
inline constexpr std::uint64_t kNodeStride = 1'000'000;
constexpr std::size_t kMostElements = 64;

/// The key of the list at one of its places. A short one has less than 8 bytes, a long one more.
inline std::string bytes_of(bench::history::Key list, char place, bool is_long) {
  const auto number = static_cast<std::uint64_t>(list);
  const EncodedKey<std::uint32_t> encoded = encode_key<std::uint32_t>(number % kNodeStride);
  const std::string_view filling = is_long ? "long" : "";
  return (static_cast<char>('0' + number / kNodeStride) + std::string(std::string_view(encoded))).append(filling) +
         place;
}

/// `saw(i, place, value)` is told of each record of the i-th list. False: not all could be read.
template <typename Reader>
class ListReader {
 public:
  using Ops = std::span<const bench::history::MicroOp>;

  ListReader(Reader& reader, const Table& table, std::string_view places, bool long_keys)
      : reader_(reader),
        table_(table),
        places_(places),
        long_keys_(long_keys) {}

  template <typename Saw>
  bool one(bench::history::Key list, Saw&& saw) {
    for (const char place : places_) {
      std::string value;
      const Outcome got = reader_.get(table_, key_of(list, place), value);
      if (got == Outcome::kOk) saw(0, place, value);
      if (got != Outcome::kOk && got != Outcome::kNotFound) return false;
    }
    return true;
  }

  /// With `will_write` it is said of the lists that are appended to.
  template <typename Saw>
  bool together(Ops ops, Saw&& saw, bool will_write = false) {
    std::deque<std::string> keys;
    std::deque<std::array<char, kMostElements * sizeof(bench::history::Element)>> buffers;
    std::vector<MultiGet> gets;
    for (const auto& op : ops) {
      for (const char place : places_)
        gets.push_back({.table = table_,
                        .key = keys.emplace_back(key_of(op.key, place)),
                        .buffer = buffers.emplace_back(),
                        .result = {},
                        .will_write = will_write && op.kind == bench::history::MicroOp::Kind::kAppend});
    }
    if (reader_.multi_get(gets) != Outcome::kOk) return false;
    for (std::size_t i = 0; i < gets.size(); ++i) {
      const auto& [outcome, size] = gets[i].result;
      if (outcome == Outcome::kOk) saw(i / places_.size(), gets[i].key.back(), {gets[i].buffer.data(), size});
      if (outcome != Outcome::kOk && outcome != Outcome::kNotFound) return false;
    }
    return true;
  }

  /// `ops` are in the order of their keys.
  template <typename Saw>
  bool scan(Ops ops, Saw&& saw) {
    const std::string from = key_of(ops.front().key, places_.front()), to = key_of(ops.back().key, places_.back());
    const ScanResult scanned = reader_.scan(table_, {.from = from, .to = to, .to_inclusive = true},
                                            [&](std::string_view key, std::string_view value) {
                                              for (std::size_t i = 0; i < ops.size(); ++i) {
                                                if (key_of(ops[i].key, key.back()) == key) saw(i, key.back(), value);
                                              }
                                              return true;
                                            });
    return static_cast<bool>(scanned);
  }

 private:
  std::string key_of(bench::history::Key list, char place) const { return bytes_of(list, place, long_keys_); }

  Reader& reader_;
  const Table& table_;
  const std::string_view places_;
  const bool long_keys_;
};

}  // namespace granary::cluster::test
