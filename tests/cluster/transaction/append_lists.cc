// What the clients of an AppendWorld do to lists in their transactions.

#include <algorithm>
#include <cstring>
#include <deque>

#include "recovery/lock_ahead.h"
#include "src/record/shared_record.h"
#include "tests/cluster/transaction/append_world.h"
#include "tests/cluster/transaction/list_reader.h"

namespace granary::cluster::test {

using bench::history::Element;

namespace {

constexpr std::string_view kPlaces = "ab";

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

std::string AppendWorld::key_of(Key list, char place) const { return bytes_of(list, place, options_.long_keys); }

bool AppendWorld::execute(Open& open, Plan& plan) {
  const std::span<MicroOp> ops(plan.ops);
  std::size_t done = plan.scanned;
  if (done != 0 && !read(open, ops.first(done), How::kScan)) return false;
  if (options_.declared != 0 && random_.chance(options_.declared) && !declare(open, ops.subspan(done))) return false;
  if (random_.chance(0.3)) {
    const std::size_t together = leading_reads(ops.subspan(done));
    if (!read(open, ops.subspan(done, together), How::kTogether)) return false;
    done += together;
  }
  for (MicroOp& op : ops.subspan(done)) {
    if (random_.chance(0.3)) pause(30);
    if (options_.clocks_are_set && random_.chance(0.02)) pause(2'000);
    const bool appends = op.kind == MicroOp::Kind::kAppend;
    if (appends ? !append(open, op) : !read(open, {&op, 1}, How::kOneByOne)) return false;
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
          {tables_[open.client.node], keys.emplace_back(key_of(op.key, place)), op.kind == MicroOp::Kind::kAppend});
    }
  }
  return open.t.declare(declared) == Outcome::kOk;
}

/// `saw` as ListReader has it.
template <typename Reader, typename Saw>
bool AppendWorld::read_with(Reader& reader, const Client& client, std::span<const MicroOp> ops, How how, Saw&& saw) {
  ListReader<Reader> lists(reader, tables_[client.node], places(), options_.long_keys);
  if (how == How::kScan) return lists.scan(ops, saw);
  if (how == How::kTogether) return lists.together(ops, saw);
  if (how == How::kToWrite) return lists.together(ops, saw, /*will_write=*/true);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i != 0 && random_.chance(0.3)) pause(30);
    if (!lists.one(ops[i].key, [&](std::size_t, char place, std::string_view value) { saw(i, place, value); }))
      return false;
  }
  return true;
}

bool AppendWorld::read(Open& open, std::span<MicroOp> ops, How how) {
  std::vector<Found> found(ops.size());
  const auto saw = [&](std::size_t i, char place, std::string_view value) {
    found_at(open, ops[i].key, place, value, found[i]);
  };
  if (!read_with(open.t, open.client, ops, how, saw)) return false;
  for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = MicroOp::read(ops[i].key, std::move(found[i].elements));
  return true;
}

void AppendWorld::found_at(Open& open, Key key, char place, std::string_view value, Found& found) {
  open.twice = open.twice || found.place != 0;
  found = {place, list_of(value)};
  const bool own = std::find(open.appended.begin(), open.appended.end(), key) != open.appended.end();
  if (!own) expect_logged(key_of(key, place), value);
}

bool AppendWorld::append(Open& open, const MicroOp& op) {
  Found list;
  const auto saw = [&](std::size_t, char place, std::string_view value) { found_at(open, op.key, place, value, list); };
  const How how = random_.chance(0.4) ? How::kToWrite : How::kOneByOne;
  if (!read_with(open.t, open.client, {&op, 1}, how, saw)) return false;
  open.appended.push_back(op.key);
  list.elements.push_back(op.element);
  const Table& table = tables_[open.client.node];
  char place = list.place == 0 ? kPlaces[0] : list.place;
  if (list.place != 0 && options_.moves != 0 && random_.chance(options_.moves)) {
    if (open.t.remove(table, key_of(op.key, place)) != Outcome::kOk) return false;
    place = other(place);
  }
  return open.t.put(table, key_of(op.key, place), bytes_of_list(list.elements)) == Outcome::kOk;
}

/// A snapshot is of an epoch's beginning on all nodes alike, which wrong_epochs() looks at. One that meets a held
/// record gives up.
void AppendWorld::look_back(const Client& client) {
  Snapshot snapshot = cluster_.node(client.node).worker(client.worker).snapshot();
  Plan plan;
  if (options_.index == IndexKind::kOrdered && random_.chance(0.5)) plan_scan(plan);
  const std::uint64_t count = plan.scanned != 0 ? plan.ops.size() : random_.between(1, 4);
  while (plan.ops.size() < count) plan.ops.push_back(MicroOp::read(current(some_slot())));
  const How how = plan.scanned != 0 ? How::kScan : random_.chance(0.3) ? How::kTogether : How::kOneByOne;
  pause(30);
  std::vector<Found> found(plan.ops.size());
  const auto saw = [&](std::size_t i, char place, std::string_view value) {
    if (found[i].place != 0) wrong_ = "a snapshot saw a list twice";
    found[i] = {place, list_of(value)};
  };
  if (!read_with(snapshot, client, plan.ops, how, saw)) return;
  Seen seen{.epoch = snapshot.epoch(), .snapshot = true, .ops = {}};
  for (std::size_t i = 0; i < found.size(); ++i)
    seen.ops.push_back(MicroOp::read(plan.ops[i].key, std::move(found[i].elements)));
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
  expect_all_named();
  for (unsigned node = 0; node < options_.nodes; ++node) take_log(node);
  if (log_.find(std::string(key).append(value)) == std::string::npos) wrong_ = "what nobody has logged was seen";
}

std::set<record::StateWord> AppendWorld::named_words() {
  std::set<record::StateWord> words;
  for (unsigned client = 0; client < options_.nodes * options_.workers; ++client) {
    const cc::WorkerState& worker =
        cluster_.node(client / options_.workers).worker(client % options_.workers).core()->state();
    const auto unfinished = recovery::read_lock_ahead(*worker.ring);
    if (!unfinished.ok()) wrong_ = unfinished.status().message();
    for (std::size_t i = 0; unfinished.ok() && i < unfinished->size(); ++i) {
      for (const log::NamedLock& lock : (*unfinished)[i].locks) words.insert(lock.word);
    }
  }
  return words;
}

void AppendWorld::expect_named(std::string_view key, const std::set<record::StateWord>& named) {
  const auto found = tables_[home_of(key)].core()->index().find(key);
  if (found.value == 0) return;
  const record::StateWord state = record::shared_of(*reinterpret_cast<record::Record*>(found.value)).state();
  if (record::is_x_locked(state) && !named.contains(state)) wrong_ = "a record was locked that no ring names";
}

/// Whatever a node holds, its rings name as long as it does, for whoever would recover it.
void AppendWorld::expect_all_named() {
  const std::set<record::StateWord> named = named_words();
  for (unsigned slot = 0; slot < appends_.size(); ++slot) {
    for (const char place : places()) expect_named(key_of(current(slot), place), named);
  }
}

}  // namespace granary::cluster::test
