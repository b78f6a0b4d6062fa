// What clients of a CrashWorld do and are told, and what is there when all is over.

#include <cstring>

#include "src/record/shared_record.h"
#include "tests/cluster/recovery/crash_world.h"

namespace granary::cluster::test {

using bench::history::Element;
using bench::history::EventType;
using bench::history::Key;

namespace {

constexpr Key kNodeStride = 1'000'000;
constexpr unsigned kMostTries = 300;  ///< to read a list at the end

std::string_view bytes_of(const std::vector<Element>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Element)};
}

}  // namespace

CrashWorld::List CrashWorld::list_of(std::string_view bytes) {
  List list(bytes.size() / sizeof(Element));
  if (!list.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

/// The list that a slot appends to after so many appends.
Key CrashWorld::key_at(std::size_t slot, std::uint64_t appended) const {
  return static_cast<Key>(slot / options_.lists) * kNodeStride +
         static_cast<Key>(slot % options_.lists + appended / options_.length * options_.lists);
}

std::string CrashWorld::key_of(Key key) const {
  return std::to_string(key / kNodeStride) + "-" + std::to_string(key % kNodeStride);
}

/// A list that is appended to at the moment.
Key CrashWorld::some_key() {
  const std::size_t slot = random_.below(appends_.size());
  return key_at(slot, appends_[slot]);
}

CrashWorld::MicroOp CrashWorld::some_op() {
  const std::size_t slot = random_.below(appends_.size());
  const Key key = key_at(slot, appends_[slot]);
  if (random_.chance(0.4)) return MicroOp::read(key);
  return MicroOp::append(key, static_cast<Element>(appends_[slot]++ % options_.length + 1));
}

void CrashWorld::run_client(const LifePtr& life, unsigned worker) {
  ++clients_;
  std::uint64_t process = processes_++;
  while (goes_on(*life) && !enough_) {
    pause(random_.chance(0.1) ? 200 : 30);
    if (!goes_on(*life)) break;
    if (random_.chance(0.1)) {
      look_back(*life, worker);
      continue;
    }
    Ops ops;
    for (std::uint64_t count = random_.between(1, 4); count > 0; --count) ops.push_back(some_op());
    (void)transact(*life, worker, process, std::move(ops));
  }
  --clients_;
}

/// Returns true if its client was told that it committed.
bool CrashWorld::transact(Life& life, unsigned worker, std::uint64_t process, Ops ops) {
  const Ops asked = ops;
  note(EventType::kInvoke, process, asked);
  Transaction t = node(life).worker(worker).begin();
  CommitResult done{.reason = AbortReason::kUser, .ticket = {}};
  if (execute(t, tables_[life.node], ops)) {
    done = t.commit();
  } else {
    t.abort();
  }
  if (done.committed()) note_epoch(life, done, ops);
  if (done.committed() && !life.dead && random_.chance(0.2)) await_release(life, done.ticket.epoch);
  if (life.dead) {
    ++counts_.unknown;
    note(EventType::kInfo, process, asked);
    return false;
  }
  if (!done.committed()) {
    note(EventType::kFail, process, asked);
    return false;
  }
  ++counts_.committed;
  last_commit_ = std::max(last_commit_, done.ticket.epoch);
  note(EventType::kOk, process, std::move(ops));
  return true;
}

/// A life that is over does not see any more what the others do, and what it has decided may have come too late. If it
/// has not, then what it appended is of this epoch.
void CrashWorld::note_epoch(const Life& life, const CommitResult& done, const Ops& ops) {
  Ops known = ops;
  if (life.dead) std::erase_if(known, [](const MicroOp& op) { return op.kind != MicroOp::Kind::kAppend; });
  seen_.push_back({.epoch = done.ticket.epoch, .ops = std::move(known)});
}

bool CrashWorld::declare(Transaction& t, const Table& table, const Ops& ops) {
  std::vector<std::string> keys;
  for (const MicroOp& op : ops) keys.push_back(key_of(op.key));
  std::vector<Declared> declared;
  for (std::size_t i = 0; i < ops.size(); ++i)
    declared.push_back({table, keys[i], ops[i].kind == MicroOp::Kind::kAppend});
  ++counts_.to_write;
  return t.declare(declared) == Outcome::kOk;
}

/// The read may lock what it finds, which the transaction is going to overwrite.
Outcome CrashWorld::read_to_write(Transaction& t, const Table& table, const std::string& key, std::string& value) {
  ++counts_.to_write;
  value.resize(kMostBytes);
  const GetResult got = t.get_to_write(table, key, value);
  value.resize(got ? got.size : 0);
  return got.outcome;
}

/// False: it must abort.
bool CrashWorld::execute(Transaction& t, const Table& table, Ops& ops) {
  if (random_.chance(0.15) && !declare(t, table, ops)) return false;
  for (MicroOp& op : ops) {
    if (random_.chance(0.2)) pause(30);
    const std::string key = key_of(op.key);
    std::string value;
    const bool to_write = op.kind == MicroOp::Kind::kAppend && random_.chance(0.3);
    const Outcome got = to_write ? read_to_write(t, table, key, value) : t.get(table, key, value);
    if (got != Outcome::kOk && got != Outcome::kNotFound) return false;
    List list = list_of(got == Outcome::kOk ? value : "");
    if (op.kind == MicroOp::Kind::kRead) {
      op = MicroOp::read(op.key, std::move(list));
      continue;
    }
    list.push_back(op.element);
    if (t.put(table, key, bytes_of(list)) != Outcome::kOk) return false;
  }
  return !random_.chance(0.05);
}

/// The client is told of its transaction only when the epoch is released.
void CrashWorld::await_release(Life& life, epoch::Epoch epoch) {
  const Database& database = node(life).database();
  while (goes_on(life) && database.released_epoch() < epoch) cluster_.scheduler.yield();
  if (!goes_on(life)) return;
  ++counts_.released;
  expect_logged(epoch);
}

/// One thread, so the order of notes is real time's.
void CrashWorld::note(EventType type, std::uint64_t process, Ops ops, bool snapshot) {
  history_.push_back(
      {.type = type, .process = process, .time_ns = history_.size(), .ops = std::move(ops), .snapshot = snapshot});
}

void CrashWorld::read_all() {
  const std::uint64_t process = processes_++;
  for (std::size_t slot = 0; slot < appends_.size(); ++slot) {
    for (std::uint64_t appended = 0; appended <= appends_[slot]; appended += options_.length) {
      const Key key = key_at(slot, appended);
      if (over_) return;
      Life& reader = *lives_[random_.below(lives_.size())];
      bool read = false;
      for (unsigned tries = 0; !read && tries < kMostTries; ++tries) {
        read = transact(reader, 0, process, {MicroOp::read(key)});
        pause(8);
      }
      if (!read) note_wrong("list " + key_of(key) + " cannot be read at the end");
    }
  }
}

/// No record is held any more, by a dead life or a living one.
void CrashWorld::expect_all_free() {
  for (std::size_t slot = 0; slot < appends_.size(); ++slot) {
    for (std::uint64_t appended = 0; appended <= appends_[slot]; appended += options_.length) {
      const std::string key = key_of(key_at(slot, appended));
      const auto found = tables_[home_of(key)].core()->index().find(key);
      if (found.value == 0) continue;
      const record::StateWord state = record::shared_of(*reinterpret_cast<record::Record*>(found.value)).state();
      if (options_.protocol == "silo" ? state != record::kFree : record::is_x_locked(state))
        note_wrong("list " + key + " is held at the end");
    }
  }
}

}  // namespace granary::cluster::test
