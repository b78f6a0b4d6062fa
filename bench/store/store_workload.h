#pragma once
// The parts that all workloads on a store share: the store, a session of it for each client, and the answers to the
// runner. All of this is called once a run or once a second; requests are code of the client's own template.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/client_number.h"
#include "bench/harness/workload.h"

namespace granary::bench::store {

template <typename S>
using OpenStore = std::function<Result<std::unique_ptr<S>>()>;

/// A client with its session.
template <typename S>
class StoreClient : public Client {
 public:
  explicit StoreClient(std::unique_ptr<typename S::Session> session) : session_(std::move(session)) {}
  void begin_measurement() final {
    if constexpr (requires { session_->begin_measurement(); }) session_->begin_measurement();
  }
  void idle() final { session_->collect(); }
  void run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body) final {
    if constexpr (requires { session_->run_together(count, body); }) {
      session_->run_together(count, body);
    } else {
      Client::run_together(count, body);
    }
  }

 protected:
  const std::unique_ptr<typename S::Session> session_;
};

/// A workload with its store. The store has session(), figures(), and perhaps more of the functions that are called
/// here.
template <typename S>
class StoreWorkload : public Workload {
 protected:
  using Session = typename S::Session;

 public:
  using OpenStore = store::OpenStore<S>;

  StoreFigures figures() const final { return store_ == nullptr ? StoreFigures{} : store_->figures(); }
  const Database* logged_database() const final {
    // There is no store if it could not even be opened.
    if constexpr (requires { store_->logged_database(); }) return store_ ? store_->logged_database() : nullptr;
    return nullptr;
  }
  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) final {
    auto session = store_->session(seed_of(worker));
    if (!session.ok()) return session.status();
    return client_on(std::move(*session), worker);
  }
  Result<std::vector<std::unique_ptr<Client>>> make_clients(std::uint32_t worker, std::uint32_t count) final {
    if constexpr (requires(Session& session) { session.beside(seed_); }) {
      std::vector<std::unique_ptr<Client>> clients;
      auto session = store_->session(seed_of(worker));
      if (!session.ok()) return session.status();
      for (std::uint32_t i = 1; i < count; ++i) {
        const std::uint32_t number = client_number(worker, i);
        clients.push_back(client_on((*session)->beside(seed_of(number)), number));
      }
      clients.insert(clients.begin(), client_on(std::move(*session), worker));
      return clients;
    } else {
      return Workload::make_clients(worker, count);
    }
  }
  /// The workload's figures, and after them the store's.
  std::vector<ExtraFigure> extra_figures() const final {
    std::vector<ExtraFigure> figures = own_figures();
    if constexpr (requires { store_->extra_figures(); }) {
      if (store_ == nullptr) return figures;
      for (ExtraFigure& figure : store_->extra_figures()) figures.push_back(std::move(figure));
    }
    return figures;
  }
  std::optional<ClusterFigures> cluster_figures() const final {
    if constexpr (requires { store_->cluster_figures(); }) return store_ ? store_->cluster_figures() : ClusterFigures{};
    return std::nullopt;
  }
  Status meet() final {
    if constexpr (requires { store_->meet(); }) return store_ ? store_->meet() : Status();
    return {};
  }
  Status node_status() const final {
    if constexpr (requires { store_->node_status(); }) return store_ ? store_->node_status() : Status();
    return {};
  }

  /// Returns the store. Precondition: it is loaded.
  S& store() { return *store_; }

 protected:
  StoreWorkload(OpenStore open, const NodeShare& share, std::uint64_t seed)
      : open_(std::move(open)),
        share_(share),
        seed_(seed) {}

  /// Opens the store, after the former one has given its memory back.
  Status open_store() {
    store_.reset();
    auto opened = open_();
    if (!opened.ok()) return opened.status();
    store_ = std::move(*opened);
    return {};
  }
  /// Starts the store, as the first session lets the node serve.
  Status start_store() { return store_->session(seed_of(0)).status(); }
  /// Starts a node for which others wait. An error if the others have not waited: then all have begun anew, each with
  /// its own data.
  Status return_to_others() {
    const Status started = start_store();
    if constexpr (requires { store_->rejoined(); }) {
      if (started.ok() && !store_->rejoined()) {
        return {StatusCode::kFailedPrecondition,
                "the node was to take the place of one that was killed, and no other node served any more: remove the "
                "account and the data of all nodes, and start anew"};
      }
    }
    return started;
  }
  /// Seals a table with TableLayout::loaded_once: all rows that this process loads are there.
  template <typename Table>
  Status seal(const Table& table) {
    if constexpr (requires { store_->seal(table); }) return store_->seal(table);
    return {};
  }
  /// Returns how many threads check the data. A node has one, as other nodes check at the same time, and its sessions
  /// are few.
  unsigned checkers() const { return share_.alone() ? std::max(1u, std::thread::hardware_concurrency()) : 1; }

  /// Makes the client of this number (bench/harness/client_number.h).
  virtual std::unique_ptr<Client> client_on(std::unique_ptr<Session> session, std::uint32_t number) = 0;
  virtual std::vector<ExtraFigure> own_figures() const { return {}; }

 private:
  /// Returns the seed from which a client's session draws its pauses. All nodes of a cluster are given the same seed,
  /// and clients of two nodes that drew the same pauses would meet again after each of them.
  std::uint64_t seed_of(std::uint32_t client) const { return seed_ + client + (std::uint64_t{share_.node} << 32); }

  const OpenStore open_;
  const NodeShare share_;
  const std::uint64_t seed_;
  std::unique_ptr<S> store_;
};

}  // namespace granary::bench::store
