#pragma once
// Where calls of chains stand (procedure.h), so that none stays half done: a table that each piece writes to in its own
// transaction, so what is there after a crash fits what the pieces did; and, in memory, the calls of this life that
// could not go on.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <granary/database.h>
#include <granary/export.h>

namespace granary {

/// Thread-safe, but for open() and read().
class GRANARY_EXPORT ChainLog {
 public:
  /// A call that has begun.
  struct Call {
    std::uint64_t number = 0;
    std::string procedure;
    std::uint32_t next_piece = 0;
    std::string args;
    std::string reply;  ///< as the pieces up to now have made it
  };

  /// Makes the log of a database, its table "granary.chains", once in the database's life. Nothing is noted there
  /// before read().
  static Result<std::unique_ptr<ChainLog>> open(Database& database);
  /// Reads the calls that were left of an earlier life into `unfinished`. May be repeated after an error.
  Status read(Worker& worker, std::vector<Call>& unfinished);

  std::uint64_t new_number() { return next_number_.fetch_add(1, std::memory_order_relaxed); }
  /// In the transaction of the piece before `call.next_piece`.
  void note(Transaction& transaction, const Call& call) const;
  /// In the transaction of the last piece.
  void forget(Transaction& transaction, std::uint64_t number) const;

  // Calls whose next piece could not go on. Each is in here or in the hands of one thread, so no two threads run it.
  /// Keeps a call whose pieces from `call.next_piece` on are left. `cause`: why that piece did not commit, for a
  /// notice.
  void leave(Call call, std::string_view cause);
  /// Hands out all that nobody tries at present. Each is then given to put_back() or finished().
  std::vector<Call> take_left();
  /// A call that could not be finished this time either.
  void put_back(Call call);
  /// A call that was handed out is done. Tells a notice when no other is left.
  void finished();
  /// Left ones, those that are handed out included.
  std::size_t left() const { return left_count_.load(std::memory_order_relaxed); }

 private:
  ChainLog(const Table& table, NoticeSink notices) : table_(table), notices_(std::move(notices)) {}

  const Table table_;
  const NoticeSink notices_;
  std::atomic<std::uint64_t> next_number_{0};  // any caller takes one (relaxed): numbers only have to differ
  std::mutex mutex_;                           // guards left_, and changes of left_count_ with the notices about them
  std::vector<Call> left_;
  /// Changed under the mutex; read by anybody (relaxed), who does not follow it to anything else.
  std::atomic<std::size_t> left_count_{0};
};

}  // namespace granary
