// What the clients of an AppendWorld do to lists in their transactions. A list is a record, at one of two keys if lists move.

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include <granary/key.h>

#include "tests/dist/transaction/append_world.h"

namespace granary::dist::test {

using bench::history::Element;

namespace {

constexpr std::string_view kPlaces = "ab";
constexpr std::size_t kMostListBytes = 64 * sizeof(Element);

char other(char place) { return place == kPlaces[0] ? kPlaces[1] : kPlaces[0]; }

std::vector<Element> list_of(std::string_view bytes) {
  std::vector<Element> list(bytes.size() / sizeof(Element));
  if (!list.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

std::string_view bytes_of_list(const std::vector<Element>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Element)};
}

std::size_t leading_reads(std::span<const bench::history::MicroOp> ops) {
  const auto end = std::find_if(ops.begin(), ops.end(), [](const bench::history::MicroOp& op) {
    return op.kind != bench::history::MicroOp::Kind::kRead;
  });
  return static_cast<std::size_t>(end - ops.begin());
}

}  // namespace

std::string_view AppendWorld::places() const { return options_.moves == 0 ? kPlaces.substr(0, 1) : kPlaces; }

std::string AppendWorld::bytes_of(Key key, char place) {
  const auto number = static_cast<std::uint64_t>(key);
  const EncodedKey<std::uint64_t> encoded = encode_key<std::uint64_t>(number % kNodeStride);
  return static_cast<char>('0' + number / kNodeStride) + std::string(std::string_view(encoded)) + place;
}

bool AppendWorld::execute(Open& open, Plan& plan) {
  const std::span<MicroOp> ops = std::span(plan.ops).subspan(plan.scanned);
  if (plan.scanned != 0 && !scan(open, std::span(plan.ops).first(plan.scanned))) return false;
  if (options_.declared != 0 && random_.chance(options_.declared) && !declare(open, ops)) return false;
  const std::size_t together = random_.chance(0.3) ? leading_reads(ops) : 0;
  if (together > 1 && !read_together(open, ops.first(together))) return false;
  for (MicroOp& op : ops.subspan(together > 1 ? together : 0)) {
    if (random_.chance(0.3)) pause(30);
    if (op.kind == MicroOp::Kind::kAppend) {
      if (!append(open, op)) return false;
      continue;
    }
    std::optional<Found> found = find(open, op.key);
    if (!found) return false;
    op = MicroOp::read(op.key, std::move(found->elements));
  }
  return true;
}

bool AppendWorld::read_together(Open& open, std::span<MicroOp> ops) {
  std::deque<std::string> keys;
  std::deque<std::array<char, kMostListBytes>> buffers;
  std::vector<MultiGet> gets;
  for (const MicroOp& op : ops) {
    for (const char place : places())
      gets.push_back(
          {tables_[open.client.node], keys.emplace_back(bytes_of(op.key, place)), buffers.emplace_back(), {}});
  }
  if (open.t.multi_get(gets) != granary::Outcome::kOk) return false;
  const std::size_t each = places().size();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Found found;
    for (std::size_t place = 0; place < each; ++place) {
      const MultiGet& get = gets[i * each + place];
      if (get.result.outcome == granary::Outcome::kNotFound) continue;
      if (get.result.outcome != granary::Outcome::kOk) return false;
      found_at(open, ops[i].key, places()[place], {get.buffer.data(), get.result.size}, found);
    }
    ops[i] = MicroOp::read(ops[i].key, std::move(found.elements));
  }
  return true;
}

/// Most of it: what is forgotten is read and written beside the rest.
bool AppendWorld::declare(const Open& open, std::span<const MicroOp> ops) {
  std::deque<std::string> keys;
  std::vector<Declared> declared;
  for (const MicroOp& op : ops) {
    for (const char place : places()) {
      if (random_.chance(0.05)) continue;
      declared.push_back(
          {tables_[open.client.node], keys.emplace_back(bytes_of(op.key, place)), op.kind == MicroOp::Kind::kAppend});
    }
  }
  return open.t.declare(declared) == granary::Outcome::kOk;
}

std::optional<AppendWorld::Found> AppendWorld::find(Open& open, Key key) {
  Found found;
  for (const char place : places()) {
    std::string value;
    const granary::Outcome got = open.t.get(tables_[open.client.node], bytes_of(key, place), value);
    if (got == granary::Outcome::kOk) {
      found_at(open, key, place, value, found);
    } else if (got != granary::Outcome::kNotFound) {
      return std::nullopt;
    }
  }
  return found;
}

void AppendWorld::found_at(Open& open, Key key, char place, std::string_view value, Found& found) {
  open.twice = open.twice || found.place != 0;
  found = {place, list_of(value)};
  const bool own = std::find(open.appended.begin(), open.appended.end(), key) != open.appended.end();
  if (!own) expect_logged(bytes_of(key, place), value);
}

bool AppendWorld::append(Open& open, const MicroOp& op) {
  std::optional<Found> list = find(open, op.key);
  if (!list) return false;
  open.appended.push_back(op.key);
  list->elements.push_back(op.element);
  const Table& table = tables_[open.client.node];
  char place = list->place == 0 ? kPlaces[0] : list->place;
  if (list->place != 0 && options_.moves != 0 && random_.chance(options_.moves)) {
    if (open.t.remove(table, bytes_of(op.key, place)) != granary::Outcome::kOk) return false;
    place = other(place);
  }
  return open.t.put(table, bytes_of(op.key, place), bytes_of_list(list->elements)) == granary::Outcome::kOk;
}

bool AppendWorld::scan(Open& open, std::span<MicroOp> ops) {
  const std::string from = bytes_of(ops.front().key, places().front()), to = bytes_of(ops.back().key, places().back());
  std::vector<Found> found(ops.size());
  const ScanResult scanned = open.t.scan(tables_[open.client.node], {.from = from, .to = to, .to_inclusive = true},
                                         [&](std::string_view key, std::string_view value) {
                                           for (std::size_t i = 0; i < ops.size(); ++i) {
                                             if (bytes_of(ops[i].key, key.back()) == key)
                                               found_at(open, ops[i].key, key.back(), value, found[i]);
                                           }
                                           return true;
                                         });
  for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = MicroOp::read(ops[i].key, std::move(found[i].elements));
  return static_cast<bool>(scanned);
}

/// A snapshot is of an epoch's beginning on all nodes alike, which wrong_epochs() looks at. One that meets a held record gives up.
void AppendWorld::look_back(const Client& client) {
  Snapshot snapshot = cluster_.node(client.node).worker(client.worker).snapshot();
  Seen seen{.epoch = snapshot.epoch(), .snapshot = true, .ops = {}};
  for (std::uint64_t count = random_.between(1, 4); count > 0; --count) {
    if (random_.chance(0.3)) pause(30);
    const Key key = current(static_cast<unsigned>(random_.below(appends_.size())));
    Found found;
    for (const char place : places()) {
      std::string value;
      const granary::Outcome got = snapshot.get(tables_[client.node], bytes_of(key, place), value);
      if (got == granary::Outcome::kNotFound) continue;
      if (got != granary::Outcome::kOk) return;
      if (found.place != 0) wrong_ = "a snapshot saw a list twice";
      found = {place, list_of(value)};
    }
    seen.ops.push_back(MicroOp::read(key, std::move(found.elements)));
  }
  seen_.push_back(std::move(seen));
}

/// What the rings of a node's clients hold, before it goes to the log.
void AppendWorld::take_log(unsigned node) {
  for (unsigned worker = 0; options_.logged && worker < options_.workers; ++worker) {
    const log::Ring& ring = *cluster_.node(node).worker(worker).core()->state().ring;
    std::uint64_t& taken = taken_[node * options_.workers + worker];
    log_ += ring.pending().substr(taken - ring.header().head.load());
    taken = ring.header().tail.load();
  }
}

/// I8: what anybody sees is in the log of whoever wrote it.
void AppendWorld::expect_logged(std::string_view key, std::string_view value) {
  if (!options_.logged) return;
  for (unsigned node = 0; node < options_.nodes; ++node) take_log(node);
  if (log_.find(std::string(key).append(value)) == std::string::npos) wrong_ = "what nobody has logged was seen";
}

}  // namespace granary::dist::test
