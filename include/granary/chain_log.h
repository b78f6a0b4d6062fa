#pragma once
// Where calls of chains stand (procedure.h), so that a crash leaves none half done: a table that each piece writes to in its own
// transaction, so what is there after recovery fits what the pieces did.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <granary/database.h>

namespace granary {

class ChainLog {
 public:
  /// A call that has begun.
  struct Call {
    std::uint64_t number = 0;
    std::string procedure;
    std::uint32_t next_piece = 0;
    std::string args;
    std::string reply;  ///< as the pieces up to now have made it
  };

  /// The log of a database, its table "granary.chains"; `unfinished`: what was left of an earlier life.
  static Result<ChainLog> open(Database& database, Worker& worker, std::vector<Call>& unfinished);

  std::uint64_t new_number() const { return next_number_->fetch_add(1, std::memory_order_relaxed); }
  /// In the transaction of the piece before `call.next_piece`.
  void note(Transaction& transaction, const Call& call) const;
  /// In the transaction of the last piece.
  void forget(Transaction& transaction, std::uint64_t number) const;

 private:
  explicit ChainLog(const Table& table) : table_(table) {}
  Status read(Worker& worker, std::vector<Call>& calls) const;

  Table table_;
  std::unique_ptr<std::atomic<std::uint64_t>> next_number_ = std::make_unique<std::atomic<std::uint64_t>>(0);
};

}  // namespace granary
