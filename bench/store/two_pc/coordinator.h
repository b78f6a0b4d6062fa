#pragma once
// Runs a worker's transactions, one at a time: reads lock rows at their nodes, and writes are kept until the commit.
// This part knows no types of keys and rows; transaction.h has the part that does.

#include <functional>
#include <span>
#include <vector>

#include "bench/store/two_pc/peers.h"
#include "bench/store/two_pc/rows.h"

namespace granary::bench::two_pc {

/// A table as all nodes know it.
struct TableEntry {
  std::uint32_t number = 0;
  /// Returns the node that has a key's row. None: all nodes have all rows.
  std::function<std::uint32_t(std::uint64_t key)> home;
};

/// A row to read, into a buffer of `bytes` bytes. A row of another size counts as not found.
struct Get {
  const TableEntry* table;
  std::uint64_t key;
  void* row;
  std::size_t bytes;
  bool* found;
  bool write;  ///< whether the transaction will write the row
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

  // get() and scan() return false if the transaction has lost a conflict, or a node. Then it can only be rolled back.
  /// Reads rows in one round trip, whatever nodes they are on. Shows what the transaction has written itself.
  bool get(std::span<const Get> gets);
  /// Scans a range of an ordered table at one node, that of the range's lower end. Does not show what the transaction
  /// has written.
  bool scan(const TableEntry& table, Range range, const TakeRow& take);

  /// Keeps a write until the commit. Only then is it checked: a row to insert must be absent, and a row to update or
  /// remove must be present.
  void write(const TableEntry& table, std::uint64_t key, Write::Kind kind, std::string value);

  /// Ends the transaction. Returns false if it could not be committed and is rolled back. It commits in two phases, or
  /// in one if a single node has writes; the locks at other nodes are held until that node has voted.
  bool commit();
  void roll_back();

  /// Whether a node that the transaction needs is gone.
  bool has_lost_a_node() const { return lost_; }
  const Traffic& traffic() const { return peers_.traffic(); }
  /// Returns how many transactions that have ended reached other nodes.
  std::uint64_t distributed() const { return distributed_; }

 private:
  /// The part of a transaction that concerns one node.
  struct Participant {
    bool joined = false;  // whether it is another node, and may hold locks for the transaction
    std::vector<Wanted> wanted;
    std::vector<const Get*> gets;  // in the order of `wanted`
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
  std::vector<std::uint32_t> joined_;      // the other nodes that have joined the transaction
  std::vector<Call> calls_;
  bool failed_ = false, lost_ = false;  // whether an operation has failed, and whether a node did not answer
  std::uint64_t distributed_ = 0;
  std::uint64_t round_trips_before_ = 0;  ///< the sum of round trips when the last transaction ended
};

}  // namespace granary::bench::two_pc
