// How clients of a CrashWorld look at the past: a snapshot stays what it is while nodes die, are recovered and come
// back.

#include <set>
#include <utility>

#include "tests/cluster/recovery/crash_world.h"

namespace granary::cluster::test {

using bench::history::EventType;
using bench::history::Key;

/// Reads what can be read of these lists, and expects what the snapshot has shown before.
void CrashWorld::look(const Life& life, Snapshot& snapshot, const std::vector<Key>& keys, Looked& looked) {
  for (const Key key : keys) {
    if (random_.chance(0.2)) pause(30);
    std::string value;
    const Outcome got = snapshot.get(tables_[life.node], key_of(key), value);
    if (life.dead) return;
    if (got == Outcome::kBusy || got == Outcome::kUnreachable) continue;
    if (got != Outcome::kOk && got != Outcome::kNotFound) return note_wrong("a snapshot's read ended otherwise");
    const List list = list_of(got == Outcome::kOk ? value : "");
    const auto [at, is_first] = looked.emplace(key, list);
    if (is_first) continue;
    ++counts_.again;
    if (at->second != list) note_wrong("list " + key_of(key) + " changed in a snapshot");
  }
}

/// Looks at some lists, and again after a while, in which nodes may die and come back. Of a node that has died
/// meanwhile the snapshot may show nothing any more.
void CrashWorld::look_back(Life& life, unsigned worker) {
  Snapshot snapshot = node(life).worker(worker).snapshot();
  std::vector<Key> keys;
  for (std::uint64_t count = random_.between(2, 5); count > 0; --count) keys.push_back(some_key());
  const std::set<Key> different(keys.begin(), keys.end());
  keys.assign(different.begin(), different.end());
  Looked looked;
  look(life, snapshot, keys, looked);
  const unsigned before = counts_.again, deaths = deaths_;
  pause(random_.chance(0.2) ? 4'000 : 100);
  look(life, snapshot, keys, looked);
  if (deaths_ != deaths) counts_.again_after_death += counts_.again - before;
  if (life.dead || looked.empty()) return;
  ++counts_.looks;
  Seen seen{.epoch = snapshot.epoch(), .snapshot = true, .ops = {}};
  Ops asked;
  for (auto& [key, list] : looked) {
    asked.push_back(MicroOp::read(key));
    seen.ops.push_back(MicroOp::read(key, std::move(list)));
  }
  const std::uint64_t process = processes_++;
  note(EventType::kInvoke, process, std::move(asked), /*snapshot=*/true);
  note(EventType::kOk, process, seen.ops, /*snapshot=*/true);
  seen_.push_back(std::move(seen));
}

}  // namespace granary::cluster::test
