#pragma once
// Fibers of an owner and of other nodes that increment, delete and bear a few counters, whose records die and whose
// places are used again, over a network that tears, delays, breaks and crashes. What must hold is checked at each step
// and in the end.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/record_access/header_read.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/key_read.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "src/cluster/record_access/lease.h"
#include "tests/cluster/record_access/hash_owner.h"
#include "tests/cluster/record_access/sim_clocks.h"
#include "tests/cluster/record_access/sim_nodes.h"

namespace granary::cluster {

struct HammerOptions {
  rdma::sim::SimOptions network{};
  unsigned remotes = 2;
  unsigned fibers = 2;         ///< of each node, the owner included
  unsigned transactions = 12;  ///< of each fiber
  unsigned crashes = 0;        ///< of other nodes, in all
  double leases = 0;           ///< how often a node reads under a lease
};

class Hammer {
 public:
  explicit Hammer(const HammerOptions& options);
  ~Hammer();
  /// Runs all fibers to their end; an empty string, or what was wrong.
  std::string run();
  /// Of remote increments, deletes and births: the run was no idle one.
  std::uint64_t remote_commits() const { return remote_commits_; }
  std::uint64_t resumed() const { return resumed_; }
  /// Leases that were valid when they had been taken.
  std::uint64_t leased() const { return leased_; }

 private:
  static constexpr std::uint64_t kKeys = 3;
  static constexpr std::uint64_t kPlaces = 5;
  static constexpr std::uint64_t kClockError = 22;  ///< of clocks that are wrong by 10 us and read to the microsecond

  /// What an x-lock holder is about to do, and what recovery would find in its log.
  struct Intent {
    std::uint64_t place = 0;
    record::StateWord mine = record::kFree;
    bool decided = false;  ///< to be written back, whatever happens
    record::TidWord tid = 0;
    std::uint64_t incarnation = 0;
    std::string key{};
    std::string value{};
  };
  struct Worker;
  struct Life;

  /// A version that whoever holds its record will replace, and that stays locked until then.
  struct Doomed {
    record::TidWord tid = 0;
    std::uint64_t incarnation = 0;
    bool operator==(const Doomed&) const = default;
  };
  struct Place {
    std::optional<std::uint64_t> key{};  ///< of the record that is here and in the table
    std::optional<Doomed> doomed{};
  };

  static std::string key_of(std::uint64_t number);
  OwnedRecord at(std::uint64_t place) { return owner_.at(place, key_of(places_[place].key.value_or(0))); }
  std::uint64_t place_of(const RemoteRecord& record) const;
  std::optional<std::uint64_t> find(std::uint64_t key) const;

  void owner_fiber(std::uint64_t number);
  void bear(std::uint64_t key);
  void change_as_owner(std::uint64_t place, std::uint64_t key);

  void start(Life& life);
  void remote_fiber(Worker& worker);
  void transact(Worker& worker, std::uint64_t key);
  void change(Worker& worker, const RemoteRecord& record, record::TidWord read, std::optional<std::uint64_t> count);
  void validate(Worker& worker, const RemoteRecord& record, record::TidWord tid);
  void hold_lease(Worker& worker, const RemoteRecord& record);
  AccessOutcome carry_out(Worker& worker, AccessStep& step, const std::function<void()>& resume);
  static AccessOutcome run(Worker& worker, AccessStep& step);
  bool reconnect(Worker& worker);
  void crash_some();
  void recover(const Life& dead);
  void check_end();

  /// Mostly a moment, sometimes long enough for others to do all they want.
  void pause() {
    const std::uint64_t most = random_.chance(0.1) ? 120 : 4;
    for (std::uint64_t turns = random_.below(most); turns > 0; --turns) nodes_.scheduler.yield();
  }
  void wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  bool ended() const { return !wrong_.empty(); }

  const HammerOptions options_;
  HashOwner owner_{1};
  const kvstore::remote::RemoteTable table_ = owner_.remote(kOwner);
  SimNodes nodes_;
  base::Random random_;
  SimClocks clocks_{nodes_.network, kClockError};
  std::vector<Place> places_{kPlaces};
  std::vector<std::unique_ptr<Life>> lives_;
  unsigned running_ = 0;
  std::uint64_t writers_ = 0;
  std::uint64_t remote_commits_ = 0;
  std::uint64_t resumed_ = 0;
  std::uint64_t leased_ = 0;
  std::uint64_t increments_ = 0;
  std::uint64_t deleted_ = 0;  ///< sum of the counts that were deleted
  std::string wrong_;
};

}  // namespace granary::cluster
