#pragma once
// Stored procedures: a name, typed arguments and a body, called through a worker. They run in place; in a cluster,
// ClusterWorker::call runs one by its name at the node that a key's placement or the caller names.
//
// A procedure may be a chain of pieces, each a transaction of its own, so that none is large or long (transaction chopping). What the
// procedures declare to do decides whether they may: check_chains(). Until it has agreed, a chain runs as one transaction. Only
// the first piece may abort(); once it has committed, the others follow, each tried until it commits, or for 10 s where it is no
// conflict that keeps it from that (RunResult::pieces_left).
//
// A body may throw: then its transaction is aborted. The caller gets the exception, or one at another node kFailedPrecondition.

#include <cstddef>
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

namespace granary {

/// A part of a procedure. The body of a later piece finds the reply as the pieces before it have left it.
template <typename Args, typename Reply>
struct Piece {
  DeclaredAccesses accesses;
  std::function<void(Transaction&, const Args&, Reply&)> body;
};

/// Procedures by name. Fill it before workers call into it; calls are thread-safe, the rest is not.
class Procedures {
  template <typename Args, typename Reply>
  struct Entry;

 public:
  /// A handle that skips the look-up by name.
  template <typename Args, typename Reply>
  class Handle {
   public:
    Handle() = default;

   private:
    friend class Procedures;
    explicit Handle(const Entry<Args, Reply>* entry) : entry_(entry) {}
    const Entry<Args, Reply>* entry_ = nullptr;
  };

  /// Registers `body`. Args and Reply are plain structs (they travel as bytes). kAlreadyExists if the name is taken.
  /// `accesses` are needed where there are chains.
  template <typename Args, typename Reply>
  Result<Handle<Args, Reply>> add(std::string name, std::function<void(Transaction&, const Args&, Reply&)> body,
                                  std::optional<DeclaredAccesses> accesses = std::nullopt) {
    const bool declared = accesses.has_value();
    std::vector<Piece<Args, Reply>> pieces;
    pieces.push_back({std::move(accesses).value_or(DeclaredAccesses{}), std::move(body)});
    return add_pieces(std::move(name), std::move(pieces), declared);
  }
  /// Registers a chain of one piece or more.
  template <typename Args, typename Reply>
  Result<Handle<Args, Reply>> add_chain(std::string name, std::vector<Piece<Args, Reply>> pieces) {
    if (pieces.empty()) return Status(StatusCode::kInvalidArgument, "procedure '" + name + "' has no piece");
    return add_pieces(std::move(name), std::move(pieces), true);
  }

  /// With everything registered: whether chains may run in pieces, and from now on they do. kInvalidArgument says which may not and
  /// names the cycle, or who has declared nothing. Whatever else changes the declared tables at the same time is not known of here.
  Status check_chains();
  /// After check_chains(): calls of chains survive a crash between their pieces (RPO as that of every transaction). Finishes those that a
  /// crash of this database has left, in the table "granary.chains", and tells how many. Without it a crash leaves them as they are.
  Result<std::size_t> keep_chains(Database& database, Worker& worker);

  /// Runs a procedure as one transaction, with retries, or as a chain of them: `policy` is for the first. The reply is that of the
  /// committed (or last) attempt. Of a chain the result is that of the last piece that ran.
  template <typename Args, typename Reply>
  RunResult call(Worker& worker, const Handle<Args, Reply>& procedure, const Args& args, Reply& reply,
                 const RetryPolicy& policy = {}) const {
    const Entry<Args, Reply>& entry = *procedure.entry_;
    if (entry.pieces.size() == 1) {
      return worker.run([&](Transaction& t) { entry.pieces.front().body(t, args, reply); }, policy);
    }
    return run(entry, worker, &args, &reply, policy);
  }

  /// The same by name and bytes, as a message would carry them. kNotFound, or kInvalidArgument if a size does not fit.
  Result<RunResult> call(Worker& worker, std::string_view name, std::string_view args, std::string& reply,
                         const RetryPolicy& policy = {}) const;

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
  template <typename Args, typename Reply>
  struct Entry final : EntryBase {
    void run_piece(std::size_t piece, Transaction& t, const void* args, void* reply) const override {
      pieces[piece].body(t, *static_cast<const Args*>(args), *static_cast<Reply*>(reply));
    }
    DeclaredAccesses accesses(std::size_t piece) const override { return pieces[piece].accesses; }
    void clear(void* reply) const override { new (reply) Reply{}; }

    std::vector<Piece<Args, Reply>> pieces;
  };

  template <typename Args, typename Reply>
  Result<Handle<Args, Reply>> add_pieces(std::string name, std::vector<Piece<Args, Reply>> pieces, bool declared) {
    static_assert(std::is_trivially_copyable_v<Args> && std::is_trivially_copyable_v<Reply>, "they travel as bytes");
    static_assert(alignof(Args) <= alignof(std::max_align_t) && alignof(Reply) <= alignof(std::max_align_t));
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
    in_pieces_ = false;
    return handle;
  }

  RunResult run(const EntryBase& entry, Worker& worker, const void* args, void* reply, const RetryPolicy& policy) const;
  RunResult run_whole(const EntryBase& entry, Worker& worker, const void* args, void* reply,
                      const RetryPolicy& policy) const;
  RunResult run_pieces(const EntryBase& entry, Worker& worker, ChainLog::Call& call, const void* args, void* reply,
                       const RetryPolicy& policy) const;
  Status finish(Worker& worker, ChainLog::Call& call) const;

  std::map<std::string, std::unique_ptr<EntryBase>, std::less<>> entries_;
  bool in_pieces_ = false;
  std::optional<ChainLog> log_;
};

}  // namespace granary
