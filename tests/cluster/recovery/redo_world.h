#pragma once
// Clients of several nodes move money between accounts until one of the nodes dies. What it owes is settled by another
// node, and once more by a third, while the clients of the living go on. Meanwhile more goes wrong: a home of accounts
// dies, the first recoverer dies or may not act for a moment, connections are lost, and links are down for a while. All
// moments are random.
//
// In the end the rings tell what was decided: of each account the newest write counts. It has to be in the memory of
// each home that lives, the rings' newest writes together have to be all the money, and nothing may be locked.

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/random.h"
#include "tests/cluster/recovery/left_behind.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {

class RedoWorld {
 public:
  struct Counts {
    unsigned committed = 0;   ///< by clients that live
    unsigned homes_died = 0;  ///< while debts were settled, or soon afterwards
    unsigned recoverers_died = 0;
    unsigned refused = 0;        ///< a recoverer that lives might not act, and began anew
    SettleCounts first, second;  ///< by the first recoverer, if it came to an end, and by the second
  };

  RedoWorld(std::uint64_t seed, IndexKind index);
  ~RedoWorld();
  RedoWorld(const RedoWorld&) = delete;
  RedoWorld& operator=(const RedoWorld&) = delete;

  /// Runs it to its end. An empty string, or what is wrong.
  std::string run();
  const Counts& counts() const { return counts_; }

 private:
  static constexpr unsigned kNodes = 4, kWorkers = 5;
  /// Node 0 is nobody's home. Worker 0 of the recoverers has no client.
  static constexpr rdma::NodeId kDead = 0, kHome = 1, kFirst = 2, kSecond = 3;

  std::string directory_of(unsigned node) const { return directory_.path() + "/" + std::to_string(node); }
  void spawn(std::function<void()> body);
  void sleep_up_to(std::uint64_t us);
  void note_wrong(const std::string& what);

  // The clients.
  void open_accounts();
  void run_client(unsigned node, unsigned worker);
  void transfer(unsigned node, unsigned worker);
  bool read(Transaction& t, unsigned node, const std::string& key, std::uint64_t& balance);
  void pass_point(std::string_view point);

  // What befalls the nodes.
  void direct();
  void die(rdma::NodeId node);
  void crash_home();
  void make_trouble(rdma::NodeId recoverer);
  void let_others_notice(rdma::NodeId dead);
  void await_cut(rdma::NodeId dead);
  void mark_dead(unsigned at, rdma::NodeId dead);
  void follow(unsigned at);

  // The recoverers.
  void recover_first();
  void recover_second();
  Result<SettleCounts> recover(rdma::NodeId recoverer, std::function<bool()> may_act);

  // The end.
  void check();
  void check_account(const std::string& key, const std::string& expected);

  base::Random random_;
  const tests::RingDirectory directory_;
  SimCluster cluster_;
  const std::vector<Table> tables_;
  std::vector<std::string> accounts_;
  std::array<membership::Living, kNodes> living_;          ///< by what each node knows
  std::array<std::set<rdma::NodeId>, kNodes> known_dead_;  ///< as far as each node knows
  std::array<std::set<rdma::NodeId>, kNodes> cut_off_;     ///< by each node
  std::set<rdma::NodeId> dead_;
  std::set<const rdma::fiber::Fiber*> doomed_;  ///< the clients of the node that dies
  std::string_view dies_at_;                    ///< sync points that begin so
  std::uint64_t points_ = 0;                    ///< of these that the doomed pass until it dies; 0: it dies by the time
  std::uint64_t notice_us_ = 1;  ///< a death is noticed within this time, and the dead cut off within as much again
  unsigned troubles_ = 0;        ///< that are not over
  bool first_recovers_ = false;
  LeftBehind left_;
  Counts counts_;
  bool over_ = false;
  std::string wrong_;
};

}  // namespace granary::cluster::test
