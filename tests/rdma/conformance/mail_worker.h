#pragma once
// A worker that exchanges messages with workers of other nodes, over any provider: both sides of the exchange suite.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "rdma/fiber/fabric_wait.h"
#include "rdma/mailbox/rpc.h"
#include "rdma/mailbox/sleeper.h"
#include "tests/rdma/conformance/world.h"

namespace granary::rdma::conformance {

class MailWorker {
 public:
  static constexpr std::uint64_t kRingBytes = 4096;
  static constexpr std::uint64_t kMostBytes = 50'000;  ///< of a message: many times a ring

  /// Answers a request.
  using Handler = std::function<std::string(std::string_view request)>;

  /// `region` is registered as kPeerRegion; its first MiB is the mailboxes'.
  MailWorker(Fabric& fabric, memory::Region& region, Handler handler, std::uint64_t most_sleep_us)
      : region_(region),
        handler_(std::move(handler)),
        most_sleep_us_(most_sleep_us),
        endpoint_(fabric.open_endpoint().value()),
        fibers_(*endpoint_, [this](const Completion& completion) { hand_on(completion); }),
        here_(fabric.node().node) {}

  /// Connects to the worker of another node, again if need be.
  Status join(NodeId node, std::uint64_t timeout_us) {
    const Result<ConnectionId> made = endpoint_->connect(node, timeout_us);
    if (!made.ok()) return made.status();
    Mail& mail = mails_[node];
    mail.rpc.reset();
    mail.connection = *made;
    mail.sender = std::make_unique<mailbox::Sender>(*endpoint_, *made,
                                                    mailbox::SenderPlace{.ring = at(node, ring_of(here_)),
                                                                         .ring_bytes = kRingBytes,
                                                                         .most_bytes = kMostBytes,
                                                                         .staging = region_.base() + staging_of(node),
                                                                         .tag = tag_of(node)});
    if (mail.receiver == nullptr) {
      mail.receiver = std::make_unique<mailbox::Receiver>(region_.base() + ring_of(node), kRingBytes, kMostBytes);
    }
    mail.rpc = std::make_unique<mailbox::Rpc>(
        *mail.sender, *mail.receiver, [this](mailbox::Rpc::CallId, std::string_view request, std::string& answer) {
          answer = handler_(request);
          return true;
        });
    make_sleeper();
    return {};
  }

  /// Takes and sends what can be; false if there was nothing to take.
  bool step(std::uint64_t now_us) {
    bool any = false;
    for (const auto& [node, mail] : mails_) any |= mail.receiver->has_something();
    handed_on_ = 0;
    fibers_.poll();
    std::uint64_t deadline_us = ~std::uint64_t{0};
    for (const auto& [node, mail] : mails_) {
      mail.rpc->step(now_us);
      deadline_us = std::min(deadline_us, mail.rpc->next_deadline_us());
      const bool waits = !mail.sender->idle() && !mail.sender->broken();
      if (waits) deadline_us = std::min(deadline_us, now_us + mailbox::Sleeper::kAskAgain_us);
    }
    sleeper_->limit(deadline_us - std::min(deadline_us, now_us));
    return any || handed_on_ != 0;
  }

  mailbox::Rpc& rpc(NodeId node) { return *mails_.at(node).rpc; }
  ConnectionId connection(NodeId node) const { return mails_.at(node).connection; }
  RemoteAddress at(NodeId node, std::uint64_t offset) const {
    return {.node = node,
            .region = kPeerRegion,
            .generation = endpoint_->peer_generation(mails_.at(node).connection),
            .offset = offset};
  }
  Endpoint& endpoint() { return *endpoint_; }
  fiber::FiberEndpoint& fibers() { return fibers_; }
  /// After the last join().
  mailbox::Sleeper& sleeper() { return *sleeper_; }

 private:
  struct Mail {
    ConnectionId connection = 0;
    std::unique_ptr<mailbox::Sender> sender;
    std::unique_ptr<mailbox::Receiver> receiver;
    std::unique_ptr<mailbox::Rpc> rpc;
  };

  static std::uint64_t ring_of(NodeId from) { return from * std::uint64_t{8192}; }
  static std::uint64_t staging_of(NodeId to) { return (std::uint64_t{512} << 10) + to * std::uint64_t{8192}; }
  static std::uint64_t tag_of(NodeId node) { return 2 * std::uint64_t{node} + 1; }  // odd: not a fiber's

  void hand_on(const Completion& completion) {
    ++handed_on_;
    for (const auto& [node, mail] : mails_) {
      if (completion.tag == tag_of(node) && completion.connection == mail.connection)
        mail.sender->completed(completion);
    }
  }
  void make_sleeper() {
    std::vector<mailbox::Receiver*> receivers;
    for (const auto& [node, mail] : mails_) receivers.push_back(mail.receiver.get());
    sleeper_ = std::make_unique<mailbox::Sleeper>(*endpoint_, receivers, most_sleep_us_);
  }

  memory::Region& region_;
  const Handler handler_;
  const std::uint64_t most_sleep_us_;
  const std::unique_ptr<Endpoint> endpoint_;
  fiber::FiberEndpoint fibers_;
  const NodeId here_;
  std::map<NodeId, Mail> mails_;
  std::unique_ptr<mailbox::Sleeper> sleeper_;
  std::uint64_t handed_on_ = 0;
};

/// What a peer of the suite answers: its sleeper's counts ("pauses sleeps slept_through") to "counts", the same to all
/// else.
inline std::string answer_of_peer(MailWorker* worker, std::string_view request) {
  if (request != "counts") return std::string(request);
  const mailbox::Sleeper::Counts& counts = worker->sleeper().counts();
  return std::to_string(counts.pauses) + " " + std::to_string(counts.sleeps) + " " +
         std::to_string(counts.slept_through);
}

}  // namespace granary::rdma::conformance
