#include "recovery/checkpoint/key_range.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::recovery::checkpoint {
namespace {

using kvstore::ordered::Direction;
using kvstore::ordered::Range;
using kvstore::ordered::Tree;

/// Finds one key: it stops at the first entry.
class OneKey final : public kvstore::ordered::ScanVisitor {
 public:
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view key, kvstore::ordered::Value) override {
    key_.emplace(key);
    return false;
  }
  std::optional<std::string> take() { return std::move(key_); }

 private:
  std::optional<std::string> key_;
};

std::optional<std::string> first_key(const Tree& tree, const Range& range, Direction direction) {
  OneKey found;
  tree.scan(range, direction, found);
  return found.take();
}

}  // namespace

std::optional<std::string> middle(std::string_view a, std::string_view b) {
  constexpr std::size_t kPrecision = 16;
  const auto shared = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const std::size_t bytes = shared + kPrecision;
  const auto digit = [](std::string_view key, std::size_t at) -> unsigned {
    return at < key.size() ? static_cast<unsigned char>(key[at]) : 0;
  };
  // Computes (a + b) / 2, where both are cut, or filled with zeros, to `bytes` digits of base 256. The digits that they
  // have in common stay, so only the digits after those are added. The carry out of that sum becomes its highest bit
  // again when the sum is halved.
  std::string result(a.substr(0, shared));
  result.resize(bytes);
  unsigned carry = 0;
  for (std::size_t i = bytes; i-- > shared;) {
    const unsigned sum = digit(a, i) + digit(b, i) + carry;
    result[i] = static_cast<char>(sum & 255);
    carry = sum >> 8;
  }
  for (std::size_t i = shared; i < bytes; ++i) {
    const unsigned value = static_cast<unsigned char>(result[i]) + (carry << 8);
    result[i] = static_cast<char>(value >> 1);
    carry = value & 1;
  }
  while (result.size() > shared && result.back() == '\0') result.pop_back();  // a shorter key for the same number
  if (std::string_view(result) <= a || std::string_view(result) > b) return std::nullopt;
  return result;
}

std::optional<KeyRange> whole_range(const Tree& tree) {
  auto first = first_key(tree, {}, Direction::kForward);
  auto last = first_key(tree, {}, Direction::kReverse);
  if (!first || !last || *last < *first) return std::nullopt;
  return KeyRange{std::move(*first), true, std::move(*last), true};
}

std::optional<KeyRange> split(const Tree& tree, KeyRange* range) {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const std::optional<std::string> at = middle(range->from, range->to);
    if (!at) return std::nullopt;
    auto below = first_key(tree, {range->from, range->from_inclusive, *at, false, false}, Direction::kReverse);
    auto above = first_key(tree, {*at, true, range->to, range->to_inclusive, false}, Direction::kForward);
    if (above && below) {
      KeyRange upper{std::move(*above), true, std::move(range->to), range->to_inclusive};
      range->to = std::move(*below);
      range->to_inclusive = !base::injected("split-loses-key");
      base::invariant("I21", range->to < upper.from);
      return upper;
    }
    if (above) {
      range->from = std::move(*above);
      range->from_inclusive = true;
    } else if (below) {
      range->to = std::move(*below);
      range->to_inclusive = true;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace granary::recovery::checkpoint
