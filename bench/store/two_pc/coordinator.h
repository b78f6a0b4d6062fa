#pragma once
// Runs a worker's transactions, one at a time: reads lock rows where they are, writes wait for the commit. The parts
// that know no types; transaction.h has those that do.

#include <functional>
#include <span>
#include <vector>

#include "bench/store/two_pc/peers.h"
#include "bench/store/two_pc/rows.h"

namespace granary::bench::two_pc {

/// What is known of a table on all nodes.
struct TableEntry {
  std::uint32_t number = 0;
  /// The node of a key; none: all nodes have all rows.
  std::function<std::uint32_t(std::uint64_t key)> home;
};

/// A row to be read into `bytes` bytes; one of another size counts as not found.
struct Get {
  const TableEntry* table;
  std::uint64_t key;
  void* row;
  std::size_t bytes;
  bool* found;
  bool write;  ///< it will be written
};

class Coordinator {
 public:
  using TakeRow = std::function<void(std::uint64_t key, std::string_view value)>;

  Coordinator(Rows& rows, const AddressBook& book, std::uint32_t own, std::uint32_t nodes)
      : local_(rows),
        peers_(book, nodes),
        own_(own),
        participants_(nodes) {}

  void begin() { failed_ = lost_ = false; }

  // False if the transaction has lost a conflict, or a node: then it can only be rolled back.
  /// One round trip, whatever nodes the rows are on. Shows what the transaction has written itself.
  bool get(std::span<const Get> gets);
  /// Of one node, that of the range's lower end, which an ordered table must have. Does not show what the transaction
  /// has written.
  bool scan(const TableEntry& table, Range range, const TakeRow& take);

  /// Whether that can be done is seen at commit: a row to be inserted must be absent then, another one present.
  void write(const TableEntry& table, std::uint64_t key, Write::Kind kind, std::string value);

  /// Ends the transaction; false if it could not be committed, and is rolled back. In two phases, or in one where a
  /// single node has writes: the others' locks are held until its vote is there.
  bool commit();
  void roll_back();

  /// A node is gone that the transaction needs.
  bool has_lost_a_node() const { return lost_; }
  const Traffic& traffic() const { return peers_.traffic(); }
  /// Transactions ended so far that reached other nodes.
  std::uint64_t distributed() const { return distributed_; }

 private:
  /// A node, and what the transaction has for it.
  struct Participant {
    bool joined = false;  // another node, which may hold locks
    std::vector<Wanted> wanted;
    std::vector<const Get*> gets;  // as `wanted`
    std::vector<Write> writes;

    void forget_gets() {
      wanted.clear();
      gets.clear();
    }
  };

  std::uint32_t home(const TableEntry& table, std::uint64_t key) const { return table.home ? table.home(key) : own_; }
  Participant& join(std::uint32_t node);
  bool get_all(std::span<const Get> gets);
  bool get_here();
  bool get_there();
  bool ask();
  bool prepare();
  void end(Kind told_to_writers);

  Branch local_;
  Peers peers_;
  const std::uint32_t own_;
  std::vector<Participant> participants_;  // by node
  std::vector<std::uint32_t> joined_;      // other nodes
  std::vector<Call> calls_;
  bool failed_ = false, lost_ = false;  // something, a node
  std::uint64_t distributed_ = 0;
  std::uint64_t round_trips_before_ = 0;  ///< in all, when the last transaction ended
};

}  // namespace granary::bench::two_pc
