#pragma once
// Stored procedures: a name, typed arguments and a body, called through a worker. In a cluster, calls are
// routed by name to the node that owns their data; on one node they run in place.

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <granary/database.h>

namespace granary {

/// Procedures by name. Fill it before workers call into it; calls are thread-safe, add is not.
class Procedures {
 public:
  /// A handle that skips the look-up by name.
  template <typename Args, typename Reply>
  class Handle {
   public:
    Handle() = default;

   private:
    friend class Procedures;
    using Body = std::function<void(Transaction&, const Args&, Reply&)>;
    explicit Handle(const Body* body) : body_(body) {}
    const Body* body_ = nullptr;
  };

  /// Registers `body`. Args and Reply are plain structs (they will travel as bytes). kAlreadyExists if the name is taken.
  template <typename Args, typename Reply>
  Result<Handle<Args, Reply>> add(std::string name, std::function<void(Transaction&, const Args&, Reply&)> body) {
    static_assert(std::is_trivially_copyable_v<Args> && std::is_trivially_copyable_v<Reply>, "they travel as bytes");
    auto entry = std::make_unique<Entry<Args, Reply>>(std::move(body));
    const auto* stored = &entry->body;
    if (!entries_.emplace(name, std::move(entry)).second) {
      return Status(StatusCode::kAlreadyExists, "procedure '" + name + "' is already registered");
    }
    return Handle<Args, Reply>(stored);
  }

  /// Runs a procedure as one transaction, with retries. The reply is that of the committed (or last) attempt.
  template <typename Args, typename Reply>
  RunResult call(Worker& worker, const Handle<Args, Reply>& procedure, const Args& args, Reply& reply,
                 const RetryPolicy& policy = {}) const {
    return worker.run([&](Transaction& t) { (*procedure.body_)(t, args, reply); }, policy);
  }

  /// The same by name and bytes, as a message would carry them. kNotFound, or kInvalidArgument if a size does not fit.
  Result<RunResult> call(Worker& worker, std::string_view name, std::string_view args, std::string& reply,
                         const RetryPolicy& policy = {}) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
      return Status(StatusCode::kNotFound, "no procedure is named '" + std::string(name) + "'");
    const EntryBase& entry = *found->second;
    if (args.size() != entry.args_bytes()) {
      return Status(StatusCode::kInvalidArgument, "procedure '" + std::string(name) + "' takes " +
                                                      std::to_string(entry.args_bytes()) + " bytes of arguments, got " +
                                                      std::to_string(args.size()));
    }
    return worker.run([&](Transaction& t) { entry.invoke(t, args, reply); }, policy);
  }

 private:
  struct EntryBase {
    virtual ~EntryBase() = default;
    virtual std::size_t args_bytes() const = 0;
    virtual void invoke(Transaction& t, std::string_view args, std::string& reply) const = 0;
  };
  template <typename Args, typename Reply>
  struct Entry final : EntryBase {
    explicit Entry(std::function<void(Transaction&, const Args&, Reply&)> b) : body(std::move(b)) {}
    std::size_t args_bytes() const override { return sizeof(Args); }
    void invoke(Transaction& t, std::string_view bytes, std::string& out) const override {
      Args args;
      std::memcpy(&args, bytes.data(), sizeof args);
      Reply reply{};
      body(t, args, reply);
      out.assign(reinterpret_cast<const char*>(&reply), sizeof reply);
    }
    std::function<void(Transaction&, const Args&, Reply&)> body;
  };
  std::map<std::string, std::unique_ptr<EntryBase>, std::less<>> entries_;
};

}  // namespace granary
