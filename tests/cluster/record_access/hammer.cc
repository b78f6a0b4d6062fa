#include "tests/cluster/record_access/hammer.h"

#include <fmt/format.h>

#include "src/base/test_hooks.h"
#include "tests/cluster/record_access/counted_value.h"

namespace granary::cluster {

using record::kAbsent;
using record::kFree;
using record::kLatest;
using record::TidWord;

namespace {

TidWord next_tid(TidWord tid) { return record::make_tid(1, record::sequence_of(tid) + 1) | kLatest; }

}  // namespace

struct Hammer::Worker {
  Worker(SimNodes& nodes, SimRemote& node, Life& its_life, std::uint32_t number)
      : life(its_life),
        remote(node),
        words(node.id(), node.generation(), number),
        waiter(nodes.scheduler),
        rounds(nodes.scheduler, node.shared(), node.peers(), waiter),
        buffer(node.buffer(1024)),
        write_buffer(node.buffer(1024)) {}

  Life& life;
  SimRemote& remote;
  HolderWords words;
  rdma::fiber::FiberWaiter waiter;
  rdma::fiber::Rounds rounds;
  void* buffer;
  void* write_buffer;
  Intent intent;
};

struct Hammer::Life {
  explicit Life(SimRemote& its_node) : node(its_node), cache(256) {}
  SimRemote& node;
  kvstore::remote::LocationCache cache;
  kvstore::remote::LocationCacheCounters counters;
  std::vector<std::unique_ptr<Worker>> workers;
  unsigned running = 0;
  bool crashed = false;
};

Hammer::Hammer(const HammerOptions& options)
    : options_(options),
      nodes_(options.network, options.remotes, owner_.region()),
      random_(options.network.seed, 1) {
  for (rdma::NodeId node = kOwner; node <= kOwner + options.remotes; ++node) {
    const auto offset_us = static_cast<std::int64_t>(random_.below(21)) - 10;
    nodes_.network.set_clock(node, {.offset = 1'000'000 + offset_us * 1000});
    (void)clocks_.of(node);
  }
  nodes_.time_passed = [this] { clocks_.tick(); };
}

Hammer::~Hammer() = default;

std::string Hammer::key_of(std::uint64_t number) {
  return number == 0 ? "counter0" : fmt::format("the longer key of counter {}", number);
}

std::uint64_t Hammer::place_of(const RemoteRecord& record) const {
  return (record.at.offset - owner_.at(0, "").remote(kOwner).at.offset) / 512;
}

std::optional<std::uint64_t> Hammer::find(std::uint64_t key) const {
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    if (places_[place].key == key) return place;
  }
  return {};
}

std::string Hammer::run() {
  for (unsigned i = 0; i < options_.fibers; ++i) {
    ++running_;
    nodes_.scheduler.spawn([this, i] { owner_fiber(i); });
  }
  for (unsigned i = 0; i < options_.remotes; ++i) {
    lives_.push_back(std::make_unique<Life>(nodes_.remote(i)));
    start(*lives_.back());
  }
  if (options_.crashes != 0) nodes_.scheduler.spawn([this] { crash_some(); });
  base::set_sync_hook([this](std::string_view point) {
    if (point.starts_with("owner.")) pause();
  });
  nodes_.scheduler.run();
  base::set_sync_hook({});
  if (!ended()) check_end();
  return wrong_;
}

// The owner.

void Hammer::owner_fiber(std::uint64_t) {
  for (unsigned i = 0; i < options_.transactions * 2 && !ended(); ++i) {
    const std::uint64_t key = random_.below(kKeys);
    const std::optional<std::uint64_t> place = find(key);
    if (place) {
      change_as_owner(*place, key);
    } else {
      bear(key);
    }
    for (std::uint64_t turns = random_.below(40); turns > 0; --turns) nodes_.scheduler.yield();
  }
  --running_;
}

/// An unborn record in a free place, which keeps the incarnation that the end of its last life has raised.
void Hammer::bear(std::uint64_t key) {
  const std::uint64_t from = random_.below(kPlaces);
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    const std::uint64_t place = (from + i) % kPlaces;
    if (places_[place].key) continue;
    places_[place] = {.key = key};
    OwnedRecord record = at(place);
    record.make_unborn();
    owner_.hook(record);
    return;
  }
}

void Hammer::change_as_owner(std::uint64_t place, std::uint64_t key) {
  OwnedRecord record = at(place);
  const std::uint64_t incarnation = record.incarnation();
  const auto pauses = [this] { pause(); };
  TidWord before = 0;
  if (!record.lock(&before, &clocks_.of(kOwner))) return;
  if (places_[place].key != key || record.incarnation() != incarnation || !record::is_latest(before)) {
    record.unlock();  // another fiber was quicker
    return;
  }
  if (record::is_absent(before) && random_.chance(0.5)) {
    owner_.remove(record);
    record.unhook(pauses);
    places_[place].key.reset();
    return;
  }
  places_[place].doomed = {before, incarnation};
  std::string value(record.shared().head.size(), '\0');
  base::copy_from_shared(value.data(), record::value_words(record.shared(), record.key().size()), value.size());
  const std::optional<std::uint64_t> count = record::is_absent(before) ? 0 : count_of(value);
  if (!count) return wrong("the owner holds a torn value");
  if (!record::is_absent(before) && random_.chance(0.2)) {
    deleted_ += *count;
    record.install(next_tid(before) | kAbsent, "", pauses);
  } else {
    ++increments_;
    record.install(next_tid(before), counted_value(*count + 1, ++writers_), pauses);
  }
  places_[place].doomed.reset();
}

// The others.

void Hammer::start(Life& life) {
  for (unsigned i = 0; i < options_.fibers; ++i) {
    life.workers.push_back(std::make_unique<Worker>(nodes_, life.node, life, i));
    ++life.running;
    ++running_;
    nodes_.scheduler.spawn([this, &worker = *life.workers.back()] { remote_fiber(worker); });
  }
}

void Hammer::remote_fiber(Worker& worker) {
  for (unsigned i = 0; i < options_.transactions && !ended() && !worker.life.crashed; ++i) {
    transact(worker, random_.below(kKeys));
  }
  --worker.life.running;
  --running_;
}

void Hammer::transact(Worker& worker, std::uint64_t key) {
  std::vector<std::optional<Doomed>> doomed;
  for (const Place& place : places_) doomed.push_back(place.doomed);
  const std::string name = key_of(key);
  KeyRead read(table_, name, worker.buffer, &worker.life.cache, worker.life.counters);
  if (run(worker, read) == AccessOutcome::kBroken) {
    (void)reconnect(worker);
    return;
  }
  if ((read.outcome() != AccessOutcome::kDone && read.outcome() != AccessOutcome::kMissing) || read.read() == nullptr)
    return;
  const RemoteRecord record = read.record();
  const TidWord tid = read.read()->tid();
  if (doomed[place_of(record)] == Doomed{tid, record.incarnation})
    wrong("a read shows what was about to be replaced when it began");
  std::optional<std::uint64_t> count = 0;
  if (read.outcome() == AccessOutcome::kDone) {
    count = count_of(read.read()->value());
    if (!count) return wrong("a read shows a torn value");
  }
  if (random_.chance(options_.leases)) hold_lease(worker, record);
  if (random_.chance(0.3)) validate(worker, record, tid);
  if (random_.chance(0.7)) change(worker, record, tid, read.outcome() == AccessOutcome::kDone ? count : std::nullopt);
}

void Hammer::validate(Worker& worker, const RemoteRecord& record, TidWord tid) {
  pause();
  const bool doomed = places_[place_of(record)].doomed == Doomed{tid, record.incarnation};
  HeaderRead header(record, tid, record.incarnation, worker.buffer);
  const AccessOutcome outcome = run(worker, header);
  if (outcome == AccessOutcome::kBroken) (void)reconnect(worker);
  if (doomed && outcome == AccessOutcome::kDone) wrong("a read was valid although another write was before it");
}

/// While the lease is valid by this node's clock, nobody replaces the version, nor holds what he needs for it.
void Hammer::hold_lease(Worker& worker, const RemoteRecord& record) {
  const base::SoftTime& time = clocks_.of(worker.remote.id());
  const std::uint64_t now_us = time.read().now_us;
  Lease lease(record, {.end_us = now_us + 300, .least_end_us = now_us + 100}, worker.buffer, time);
  const AccessOutcome outcome = run(worker, lease);
  if (outcome == AccessOutcome::kBroken) (void)reconnect(worker);
  if (outcome != AccessOutcome::kDone) return;
  ++leased_;
  const std::uint64_t place = place_of(record);
  const Doomed version{lease.tid(), lease.incarnation()};
  for (; !worker.life.crashed && !ended() && lease.valid(time.read()); nodes_.scheduler.yield()) {
    const OwnedRecord here = at(place);
    if (places_[place].doomed == version) return wrong("somebody is about to write under a valid lease");
    if ((here.tid() & ~record::kLocked) != version.tid || here.incarnation() != version.incarnation)
      return wrong("somebody has written under a valid lease");
    if (random_.chance(0.02)) return;
  }
}

/// Replaces the version that was read; `count`: what it counted to, nothing if it was absent.
void Hammer::change(Worker& worker, const RemoteRecord& record, TidWord read, std::optional<std::uint64_t> count) {
  const std::uint64_t place = place_of(record);
  Intent& intent = worker.intent;
  intent = {.place = place, .mine = worker.words.next(), .key = std::string(record.key)};
  const LeaseExpired expired = expired_by(clocks_.of(worker.remote.id()));
  XLock lock(record, intent.mine, worker.buffer, expired);
  if (carry_out(worker, lock, [&] { lock.resume(); }) != AccessOutcome::kDone) return;
  OwnedRecord here = owner_.at(place, intent.key);
  if (here.state() != intent.mine) wrong("a lock that counts as held is not");
  if ((here.tid() & ~record::kLocked) != lock.tid()) wrong("somebody else has written under an x-lock");
  Release release(record, intent.mine, lock.replaced(), worker.write_buffer);
  if (lock.tid() == read && random_.chance(0.9)) {
    const bool deletes = count && random_.chance(0.2);
    if (deletes) {
      deleted_ += *count;
    } else {
      ++increments_;
    }
    intent.tid = next_tid(read) | (deletes ? kAbsent : 0);
    intent.incarnation = lock.incarnation();
    intent.value = deletes ? "" : counted_value(count.value_or(0) + 1, ++writers_);
    intent.decided = true;
    places_[place].doomed = {lock.tid(), lock.incarnation()};
    release.set_version(intent.tid, intent.incarnation, intent.value);
    ++remote_commits_;
  }
  pause();
  const AccessOutcome outcome = carry_out(worker, release, [&] { release.resume(); });
  if (outcome == AccessOutcome::kBroken) return;  // crashed
  if (outcome != AccessOutcome::kDone) wrong("a write-back ended as " + std::string(name(outcome)));
  if (intent.decided && places_[place].doomed == Doomed{read, record.incarnation}) places_[place].doomed.reset();
  intent = {};
}

/// Over as many connections as it takes; kBroken if the node has crashed.
AccessOutcome Hammer::carry_out(Worker& worker, AccessStep& step, const std::function<void()>& resume) {
  AccessOutcome outcome = run(worker, step);
  while (outcome == AccessOutcome::kBroken && reconnect(worker)) {
    ++resumed_;
    resume();
    outcome = run(worker, step);
  }
  return outcome;
}

/// What a node finds out after it has crashed is nothing: its memory is gone.
AccessOutcome Hammer::run(Worker& worker, AccessStep& step) {
  worker.rounds.run(step);
  return worker.life.crashed ? AccessOutcome::kBroken : step.outcome();
}

bool Hammer::reconnect(Worker& worker) {
  while (!worker.life.crashed && !ended()) {
    if (worker.remote.peers().connect(kOwner, 0).ok()) return true;
    nodes_.scheduler.yield();
  }
  return false;
}

// Crashes.

void Hammer::crash_some() {
  for (unsigned i = 0; i < options_.crashes && running_ != 0; ++i) {
    for (std::uint64_t turns = random_.below(600); turns > 0 && running_ != 0; --turns) nodes_.scheduler.yield();
    Life& victim = *lives_[random_.below(lives_.size())];
    if (victim.crashed || ended()) continue;
    victim.crashed = true;
    nodes_.network.crash(victim.node.id());
    while (victim.running != 0) nodes_.scheduler.yield();
    lives_.push_back(std::make_unique<Life>(nodes_.restart(victim.node)));
    recover(victim);
    start(*lives_.back());
  }
}

/// What recovery does with the log of the dead, once nothing of theirs can happen any more: finishes what was decided,
/// frees the rest.
void Hammer::recover(const Life& dead) {
  for (const auto& worker : dead.workers) {
    const Intent& intent = worker->intent;
    OwnedRecord record = owner_.at(intent.place, intent.key);
    if (intent.mine != kFree && record.state() == intent.mine) {
      if (record::holder_of(record.state()).node != dead.node.id()) wrong("a lock does not name its dead holder");
      if (intent.decided) record.make(intent.incarnation, intent.tid, intent.value);
      base::store_word(&record.shared().state_word, kFree);
    }
    if (intent.decided) places_[intent.place].doomed.reset();
  }
}

void Hammer::check_end() {
  std::uint64_t sum = deleted_;
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    const OwnedRecord record = at(place);
    if (record::is_x_locked(record.state())) wrong(fmt::format("place {} is left x-locked", place));
    if (record::is_locked(record.tid())) wrong(fmt::format("place {} is left with its lock bit", place));
    if (!places_[place].key || record::is_absent(record.tid())) continue;
    const std::optional<std::string> value = record.read();
    const std::optional<std::uint64_t> count = value ? count_of(*value) : std::nullopt;
    if (!count) return wrong(fmt::format("place {} has no value, or a torn one", place));
    sum += *count;
  }
  if (sum != increments_) wrong(fmt::format("{} increments, of which {} are there", increments_, sum));
}

}  // namespace granary::cluster
