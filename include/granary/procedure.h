#pragma once
// Stored procedures: a name, typed arguments and a body, called through a worker. They run in place; in a cluster,
// ClusterWorker::call runs one by its name at the node that a key's placement or the caller names.
//
// A procedure may be a chain of pieces, each a transaction of its own, so that none is large or long (transaction
// chopping). What the procedures declare to do decides whether they may: check_chains(). Until it has agreed, a chain
// runs as one transaction. Only the first piece may abort(); once it has committed, the others follow, each tried until
// it commits, or for 10 s where it is no conflict that keeps it from that (RunResult::pieces_left). With keep_chains()
// no call stays half done for good: others finish it.
//
// A piece of several must not call commit(), not even the last one: where the call stands is still to be noted in its
// transaction, or, while chains run whole, the pieces after it are to run there. Such a commit() is refused: the piece
// is aborted, and the call ends with AbortReason::kMisuse. If pieces before it have committed, the call is half done
// (RunResult::pieces_left) until the procedure is mended. A procedure of one piece may call commit(), as the body of
// Worker::run() may.
//
// A body may throw: then its transaction is aborted. The caller gets the exception, or one at another node
// kFailedPrecondition with the beginning of its text.
//
// A call by another node has at most kMaxCallBytes of name and arguments together, and as many of reply (limits.h).

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <granary/chain_log.h>
#include <granary/database.h>
#include <granary/declared_access.h>
#include <granary/export.h>

namespace granary {

/// A part of a procedure. The body of a later piece finds the reply as the pieces before it have left it. No body of
/// several pieces calls commit().
template <Plain Args, Plain Reply>
struct Piece {
  DeclaredAccesses accesses;
  std::function<void(Transaction&, const Args&, Reply&)> body;
};

/// Procedures by name. Fill it before workers call into it. call(), finish_left() and calls_left() are thread-safe, and
/// may go on beside keep_chains(); the rest is one thread's, before them.
class GRANARY_EXPORT Procedures {
  template <Plain Args, Plain Reply>
  struct Entry;

 public:
  /// A handle that skips the look-up by name. An empty one names no procedure.
  template <Plain Args, Plain Reply>
  class Handle {
   public:
    Handle() = default;

   private:
    friend class Procedures;
    explicit Handle(const Entry<Args, Reply>* entry) : entry_(entry) {}
    const Entry<Args, Reply>* entry_ = nullptr;
  };

  /// Registers `body`. Args and Reply are plain structs, since they travel as bytes. kAlreadyExists if the name is
  /// taken. kInvalidArgument if a body is an empty function. `accesses` are needed where there are chains.
  template <Plain Args, Plain Reply>
  Result<Handle<Args, Reply>> add(std::string name, std::function<void(Transaction&, const Args&, Reply&)> body,
                                  std::optional<DeclaredAccesses> accesses = std::nullopt) {
    const bool declared = accesses.has_value();
    std::vector<Piece<Args, Reply>> pieces;
    pieces.push_back({std::move(accesses).value_or(DeclaredAccesses{}), std::move(body)});
    return add_pieces(std::move(name), std::move(pieces), declared);
  }
  /// Registers a chain of one piece or more; else as add().
  template <Plain Args, Plain Reply>
  Result<Handle<Args, Reply>> add_chain(std::string name, std::vector<Piece<Args, Reply>> pieces) {
    if (pieces.empty()) return Status(StatusCode::kInvalidArgument, "procedure '" + name + "' has no piece");
    return add_pieces(std::move(name), std::move(pieces), true);
  }

  /// With everything registered: whether chains may run in pieces, and from now on they do. kInvalidArgument says which
  /// may not and names the cycle, or who has declared nothing. Whatever else changes the declared tables at the same
  /// time is not known of here.
  Status check_chains();
  /// From now on chains run in pieces, as after check_chains(), whose errors it has, and no call stays half done for
  /// good: where it stands is noted in the table "granary.chains" of this database (with the RPO of every transaction).
  /// First finishes the calls that a crash has left there, and tells how many. Those that something keeps from it which
  /// may pass, such as another node that is not reached, are left to finish_left() after 10 s in all. If one cannot be
  /// finished for another reason (its procedure is not registered as it was, or its piece aborts or throws), the others
  /// are finished all the same, and kFailedPrecondition names the first such call and how many are left. Chains are
  /// kept then, too, and calls that are left stay in calls_left(), for finish_left() and for the next life. Once in the
  /// life of a database, then kAlreadyExists; after another error than these it may be called again. In a cluster it is
  /// called after Cluster::start(), on all nodes or on none; before that it is refused (kFailedPrecondition), and the
  /// chains that others call here run as one transaction each, unless check_chains() was called: then their calls are
  /// not kept.
  Result<std::size_t> keep_chains(Database& database, Worker& worker);
  /// After keep_chains(): tries each call that was left half done (RunResult::pieces_left, or a later piece that threw)
  /// once more, from its next piece on, with a few attempts and no waiting. Returns how many are still left. Any number
  /// of threads may call it, each with a worker of its own: no call is tried by two of them at once. What a body throws
  /// meanwhile ends that try only. The nodes of a cluster do so by themselves, a few times a second. Elsewhere the
  /// application calls it now and then while calls_left() is not 0; otherwise keep_chains() finishes them when the
  /// database is opened next.
  std::size_t finish_left(Worker& worker) const;
  /// Calls that are half done, and wait for finish_left() or are being tried by it. Costs a load or two.
  std::size_t calls_left() const {
    const ChainLog* const log = kept_.load(std::memory_order_acquire);
    return log == nullptr ? 0 : log->left();
  }

  /// Runs a procedure as one transaction, with retries, or as a chain of them: `policy` is for the first. The reply is
  /// that of the committed (or last) attempt, each of which begins with the reply as the caller has filled it. Of a
  /// chain the result is that of the last piece that ran. AbortReason::kMisuse if the handle is empty.
  template <Plain Args, Plain Reply>
  RunResult call(Worker& worker, const Handle<Args, Reply>& procedure, const Args& args, Reply& reply,
                 const RetryPolicy& policy = {}) const {
    if (procedure.entry_ == nullptr) return misused();
    const Entry<Args, Reply>& entry = *procedure.entry_;
    if (entry.pieces.size() == 1) {
      const Reply before = reply;
      const auto attempt = [&](Transaction& t) {
        std::memcpy(&reply, &before, sizeof reply);
        entry.pieces.front().body(t, args, reply);
      };
      return worker.run(attempt, policy);
    }
    return run(entry, worker, &args, &reply, policy);
  }

  /// The same by name and bytes, as a message would carry them. kNotFound, or kInvalidArgument if a size does not fit.
  Result<RunResult> call(Worker& worker, std::string_view name, std::string_view args, std::string& reply,
                         const RetryPolicy& policy = {}) const;
  /// Bytes of a procedure's reply; 0 if there is no such procedure.
  std::size_t reply_bytes(std::string_view name) const;

 private:
  /// With arguments and reply as bytes, of the sizes given and aligned as the types are.
  struct EntryBase {
    virtual ~EntryBase() = default;
    virtual void run_piece(std::size_t piece, Transaction& t, const void* args, void* reply) const = 0;
    virtual DeclaredAccesses accesses(std::size_t piece) const = 0;
    virtual void clear(void* reply) const = 0;

    std::string name;
    std::size_t piece_count = 1;
    std::size_t args_bytes = 0;
    std::size_t reply_bytes = 0;
    bool declared = false;
  };
  template <Plain Args, Plain Reply>
  struct Entry final : EntryBase {
    void run_piece(std::size_t piece, Transaction& t, const void* args, void* reply) const override {
      pieces[piece].body(t, *static_cast<const Args*>(args), *static_cast<Reply*>(reply));
    }
    DeclaredAccesses accesses(std::size_t piece) const override { return pieces[piece].accesses; }
    void clear(void* reply) const override { new (reply) Reply{}; }

    std::vector<Piece<Args, Reply>> pieces;
  };

  template <Plain Args, Plain Reply>
  Result<Handle<Args, Reply>> add_pieces(std::string name, std::vector<Piece<Args, Reply>> pieces, bool declared) {
    static_assert(alignof(Args) <= alignof(std::max_align_t) && alignof(Reply) <= alignof(std::max_align_t));
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      if (!pieces[piece].body) return no_body(name, piece);
    }
    auto entry = std::make_unique<Entry<Args, Reply>>();
    entry->name = name;
    entry->piece_count = pieces.size();
    entry->args_bytes = sizeof(Args);
    entry->reply_bytes = sizeof(Reply);
    entry->declared = declared;
    entry->pieces = std::move(pieces);
    const Handle<Args, Reply> handle(entry.get());
    if (!entries_.emplace(name, std::move(entry)).second) {
      return Status(StatusCode::kAlreadyExists, "procedure '" + name + "' is already registered");
    }
    in_pieces_.store(false, std::memory_order_relaxed);
    return handle;
  }

  static Status no_body(const std::string& name, std::size_t piece);
  /// Returns the result of a call that was refused.
  static RunResult misused();
  RunResult run(const EntryBase& entry, Worker& worker, const void* args, void* reply, const RetryPolicy& policy) const;
  RunResult run_whole(const EntryBase& entry, Worker& worker, const void* args, void* reply,
                      const RetryPolicy& policy) const;
  /// A call that runs in pieces.
  struct Chained {
    const EntryBase& entry;
    ChainLog* log;  ///< none: it is not kept
    ChainLog::Call& call;
    const void* args;
    void* reply;
  };
  static RunResult run_pieces(Worker& worker, const Chained& chained, const RetryPolicy& first,
                              const RetryPolicy& following);
  Result<RunResult> finish(Worker& worker, ChainLog& log, ChainLog::Call& call, const RetryPolicy& policy) const;
  static void run_body(const EntryBase& entry, std::size_t piece, Transaction& t, const void* args, void* reply);
  static void note_piece(Transaction& t, const Chained& chained);
  Status open_log(Database& database, Worker& worker, std::vector<ChainLog::Call>& unfinished);
  Result<std::size_t> finish_former(Worker& worker, std::vector<ChainLog::Call>& calls);
  Status finish_one(Worker& worker, ChainLog::Call& call, const RetryPolicy& policy) const;
  bool finish_quietly(Worker& worker, ChainLog& log, ChainLog::Call& call) const;
  Result<bool> may_run_in_pieces() const;

  std::map<std::string, std::unique_ptr<EntryBase>, std::less<>> entries_;
  std::unique_ptr<ChainLog> unread_;  ///< its table is made, but could not be read: the next keep_chains() reads it
  std::unique_ptr<ChainLog> log_;
  /// Points to log_ once that is there. Set (release) by keep_chains(), read (acquire) by calls.
  std::atomic<ChainLog*> kept_{nullptr};
  /// Set (release) by check_chains() and keep_chains(), by the latter after kept_; read (acquire) by calls, which then
  /// see kept_.
  std::atomic<bool> in_pieces_{false};
};

}  // namespace granary
