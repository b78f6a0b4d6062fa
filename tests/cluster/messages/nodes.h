#pragma once
// Nodes with real engines that ask each other, over any fabric: each has a service, and a worker that asks.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "rdma/fiber/rounds.h"
#include "src/db/engine.h"
#include "src/cluster/messages/messenger.h"
#include "src/cluster/messages/service.h"
#include "src/cluster/record_access/regions.h"
#include "src/txn/worker_core.h"
#include "tests/rdma/forwarding_endpoint.h"
#include "tests/support/manual_database.h"

namespace granary::cluster::messages {

inline MailboxLayout small_layout() { return {.region = kMailRegion, .nodes = 3, .workers = 2, .ring_bytes = 4096}; }

inline Options node_options() {
  Options options = tests::manual_options();
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  options.shared_memory = true;
  return options;
}

/// What a node has of the schema that all have.
struct Schema {
  explicit Schema(Database& database)
      : hashed(
            database
                .create_table("hashed",
                              {.max_value_bytes = 100, .index = IndexKind::kHash, .expected_keys = 100, .shared = true})
                .value()),
        ordered(database.create_table("ordered", {.max_value_bytes = 20000, .shared = true}).value()),
        by_letter(database.create_index(ordered, "by letter", {.parts = {{.length = 1}}}).value()),
        local(database.create_table("local").value()),
        immutable(
            database.create_table("immutable", {.max_value_bytes = 8, .shared = true, .immutable = true}).value()) {}
  Table hashed, ordered;
  Index by_letter;
  Table local, immutable;
};

/// Fails to connect so many times, as if the other side were busy.
class ReluctantEndpoint final : public rdma::test::ForwardingEndpoint {
 public:
  using ForwardingEndpoint::ForwardingEndpoint;

  unsigned failures = 0;

  Result<rdma::ConnectionId> connect(rdma::NodeId peer, std::uint64_t timeout_us) override {
    if (failures == 0) return ForwardingEndpoint::connect(peer, timeout_us);
    --failures;
    return Status(StatusCode::kUnavailable, "busy");
  }
};

/// One life of a node. Its memory goes with it.
class TestNode {
 public:
  using OpenFabric = std::function<std::unique_ptr<rdma::Fabric>()>;

  TestNode(const OpenFabric& open_fabric, const MailboxLayout& layout, CallQueue* calls = nullptr)
      : layout_(layout),
        database_(Database::open(node_options()).value(), 2),
        schema_(*database_),
        mail_(
            memory::Region::map({.reserve_bytes = layout.region_bytes(), .huge_pages = HugePages::kOff, .shared = true})
                .value()),
        buffers_(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value()),
        fabric_(open_fabric()) {
    EXPECT_TRUE(fabric_->register_region({.id = kDataRegion}, engine().region()).ok());
    EXPECT_TRUE(fabric_->register_region({.id = kMailRegion}, *mail_).ok());
    EXPECT_TRUE(fabric_->register_region({.id = kBufferRegion, .access = rdma::Access::kLocal}, *buffers_).ok());
    EXPECT_TRUE(fabric_->listen().ok());
    service_endpoint_ = std::make_unique<ReluctantEndpoint>(fabric_->open_endpoint().value());
    for (std::uint32_t i = 0; i < 4; ++i) {
      tables_.push_back(i == 2 ? schema_.by_letter.core()
                               : (i == 0   ? schema_.hashed
                                  : i == 1 ? schema_.ordered
                                           : schema_.local)
                                     .core());
    }
    tables_.push_back(schema_.immutable.core());
    owner_ = std::make_unique<Owner>(owner_worker(), *engine().epochs().acquire_slot(), tables_, engine().region(),
                                     layout.most_bytes);
    service_ = std::make_unique<Service>(ServiceParts{.layout = layout_,
                                                      .mailboxes = mail_->base(),
                                                      .own_node = id(),
                                                      .endpoint = *service_endpoint_,
                                                      .owner = *owner_,
                                                      .calls = calls,
                                                      .control = [](rdma::NodeId from, std::string_view bytes) {
                                                        return std::to_string(from) + " says " + std::string(bytes);
                                                      }});
    open_endpoint();
  }

  /// Its worker asks from now on; `now_us` and `scheduler` outlive the node.
  void join(rdma::fiber::Scheduler& scheduler, std::function<std::uint64_t()> now_us, std::uint32_t worker = 0) {
    messenger_ =
        std::make_unique<Messenger>(MessengerParts{.layout = layout_,
                                                   .mailboxes = mail_->base(),
                                                   .own_node = id(),
                                                   .worker = worker,
                                                   .peers = *peers_,
                                                   .scheduler = scheduler,
                                                   .now_us = std::move(now_us),
                                                   .timeout_us = 500'000,
                                                   .connect_timeout_us = 100'000,
                                                   .lives = [this](rdma::NodeId node) { return lives(node); }});
    rounds_ = std::make_unique<rdma::fiber::Rounds>(scheduler, *fibers_, *peers_, waiter_);
  }
  /// Its worker ends, and another one takes its number over.
  void change_worker(rdma::fiber::Scheduler& scheduler, std::function<std::uint64_t()> now_us) {
    rounds_.reset();
    messenger_.reset();
    fibers_.reset();
    peers_.reset();
    open_endpoint();
    join(scheduler, std::move(now_us));
  }
  void poll() {
    fibers_->poll();
    messenger_->step();
  }

  rdma::NodeId id() const { return fabric_->node().node; }
  tests::ManualDatabase& db() { return database_; }
  db::Engine& engine() { return database_->engine(); }
  txn::WorkerCore& owner_worker() { return *database_.worker(1).core(); }
  const Schema& schema() const { return schema_; }
  rdma::Endpoint& endpoint() { return *endpoint_; }
  ReluctantEndpoint& service_endpoint() { return *service_endpoint_; }
  rdma::fiber::Peers& peers() { return *peers_; }
  Service& service() { return *service_; }
  Messenger& messenger() { return *messenger_; }
  memory::Region& mail() { return *mail_; }
  const MailboxLayout& layout() const { return layout_; }
  /// Of registered memory.
  char* buffer() { return buffers_->base(); }

  /// Asks and waits.
  template <typename Request>
  QuestionOf<Request> ask(rdma::NodeId node, const Request& request) {
    QuestionOf<Request> question(node, request);
    messenger_->ask(question);
    return question;
  }
  /// The answer, of which there must be one. Its bytes are the node's as long as it lives.
  template <typename Request>
  typename Request::Answer answer(rdma::NodeId node, const Request& request) {
    const auto question = std::make_shared<QuestionOf<Request>>(ask(node, request));
    answered_.push_back(question);
    EXPECT_EQ(question->outcome(), AskOutcome::kAnswered)
        << name(question->outcome()) << ", " << name(question->status());
    return question->answer();
  }
  void run(rdma::fiber::Step& step) { rounds_->run(step); }
  /// Tells which nodes its worker asks.
  std::function<bool(rdma::NodeId)> lives = [](rdma::NodeId) { return true; };
  /// Hears of the completions that the messenger gets.
  std::function<void(const rdma::Completion&)> on_completion;

  /// An address in another node's engine memory.
  rdma::RemoteAddress at(rdma::NodeId node, std::uint64_t offset) {
    EXPECT_TRUE(peers_->connect(node, 1'000'000).ok());
    return {.node = node,
            .region = kDataRegion,
            .generation = endpoint_->peer_generation(*peers_->find(node)),
            .offset = offset};
  }

 private:
  class Waiter final : public base::Waiter {
   public:
    void pause(std::uint32_t) override {}
  };

  /// The worker's.
  void open_endpoint() {
    endpoint_ = fabric_->open_endpoint().value();
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    fibers_ = std::make_unique<rdma::fiber::FiberEndpoint>(*endpoint_, [this](const rdma::Completion& completion) {
      messenger_->completed(completion);
      if (on_completion) on_completion(completion);
    });
  }

  const MailboxLayout layout_;
  tests::ManualDatabase database_;
  Schema schema_;
  std::vector<txn::TableCore*> tables_;
  std::unique_ptr<memory::Region> mail_, buffers_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<ReluctantEndpoint> service_endpoint_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<Owner> owner_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  std::unique_ptr<rdma::fiber::FiberEndpoint> fibers_;
  std::unique_ptr<Messenger> messenger_;
  Waiter waiter_;
  std::unique_ptr<rdma::fiber::Rounds> rounds_;
  std::vector<std::shared_ptr<const Question>> answered_;
};

}  // namespace granary::cluster::messages
