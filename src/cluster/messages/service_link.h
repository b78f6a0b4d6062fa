#pragma once
// A service's mailboxes with one worker of another node.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rdma/mailbox/rpc.h"
#include "src/cluster/messages/frame.h"
#include "src/cluster/messages/service.h"

namespace granary::cluster::messages {

class Service::Link {
 public:
  Link(const ServiceParts& parts, rdma::fiber::Peers& peers, ServiceCounts& counts, Exchanges& exchanges,
       AskingNode& asking_node, std::uint32_t worker);

  /// Takes and answers messages. False if nothing had arrived.
  bool step(std::uint64_t now_us);
  /// Whether the next step has something to do, whatever arrives until then.
  bool is_due() const { return !quiet() || receiver_.has_something(); }
  /// Ends the service's step for the asking node.
  void end_step() { asking_node_.silent = false; }
  void completed(const rdma::Completion& completion);
  /// The result of a call, unless the worker that wants it has connected anew since.
  void finished(const CallQueue::Finished& finished);
  rdma::mailbox::Receiver& receiver() { return receiver_; }

  bool listed = false;  ///< the service's: the link is among due_

  /// Completions with this tag's low part are of the link with that number.
  static std::size_t number_of(std::uint64_t tag) { return tag & kNumberMask; }

 private:
  static constexpr unsigned kNumberBits = 24;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;

  bool quiet() const { return !rpc_ || rpc_->quiet(); }
  std::size_t number() const { return parts_.layout.index_of(node_) * parts_.layout.workers + worker_; }
  void meet_new_session(std::uint64_t now_us);
  bool open(std::uint64_t now_us);
  bool connect();
  void close();
  void cut_off(std::uint64_t now_us);
  void throw_away();

  // These functions put the answer into `message`. handle() and handle_call() return false if the answer comes later.
  bool handle(rdma::mailbox::Rpc::CallId call, std::string_view request, std::string& message);
  bool handle_call(rdma::mailbox::Rpc::CallId call, const Frame& frame, std::string& message);
  void handle_control(const Frame& frame, std::string& message);
  template <typename Request>
  void answer(const Frame& frame, std::string& message);
  template <typename Request>
  ReplyStatus answer_of(const Request& request, typename Request::Answer& answer);
  template <typename Request>
  void answer_file(const Frame& frame, std::string& message);
  /// Encodes the answer, unless it is too long.
  template <typename Answer>
  void encode_answer(RequestType type, const Answer& answer, std::string& message);
  void refuse(RequestType type, ReplyStatus status, std::string& message);
  void garbage(std::string& message);

  const ServiceParts& parts_;
  rdma::fiber::Peers& peers_;
  ServiceCounts& counts_;
  Exchanges& exchanges_;
  AskingNode& asking_node_;
  const rdma::NodeId node_;
  const std::uint32_t worker_;
  rdma::mailbox::Receiver receiver_;
  std::uint16_t session_ = 0;  ///< of the worker's requests, which is answered or cut off
  std::optional<rdma::mailbox::Sender> sender_;
  std::optional<rdma::mailbox::Rpc> rpc_;
  rdma::ConnectionId connection_ = 0;
  std::uint64_t answering_ = 0;    ///< tells calls that rpc_ has put off from those of earlier ones
  std::uint64_t connections_ = 0;  ///< tells this sender's completions from those of earlier ones
  std::uint64_t retry_us_ = 0;     ///< when connecting may be tried again
  std::uint64_t distrust_us_ = 0;  ///< for how long the worker was not heard after it was cut off last
  std::uint64_t trusted_again_us_ = 0;
  bool begins_ = false;  ///< a new session, of which no connection has been seen to work
  bool cut_off_ = false;
  bool garbage_ = false;  ///< a message came that no messenger sends
};

}  // namespace granary::cluster::messages
