#include "src/cluster/messages/service_link.h"

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cc/worker_state.h"

namespace granary::cluster::messages {

using rdma::mailbox::Rpc;

Service::Link::Link(const ServiceParts& parts, rdma::fiber::Peers& peers, ServiceCounts& counts, Exchanges& exchanges,
                    AskingNode& asking_node, std::uint32_t worker)
    : parts_(parts),
      peers_(peers),
      counts_(counts),
      exchanges_(exchanges),
      asking_node_(asking_node),
      node_(asking_node.node),
      worker_(worker),
      receiver_(parts.mailboxes + parts.layout.request_ring(asking_node.node, worker), parts.layout.ring_bytes,
                parts.layout.most_bytes) {}

bool Service::Link::step(std::uint64_t now_us) {
  const bool any = receiver_.has_something();
  if (!any && quiet()) return false;
  if (receiver_.wanted_session() != session_ && now_us >= trusted_again_us_) meet_new_session(now_us);
  if (cut_off_ || !open(now_us)) {
    throw_away();
    return any;
  }
  rpc_->step(now_us);
  if (garbage_ || rpc_->senseless() != 0 || !receiver_.status().ok()) cut_off(now_us);
  return any;
}

/// The worker has begun anew, perhaps with its node: answers begin anew as well, since what it still gets on the old
/// session's account would be lost to it or, worse, taken for an answer to another question.
void Service::Link::meet_new_session(std::uint64_t now_us) {
  session_ = receiver_.wanted_session();
  cut_off_ = garbage_ = false;
  begins_ = true;
  retry_us_ = now_us;
  close();
}

bool Service::Link::open(std::uint64_t now_us) {
  if (rpc_ && !sender_->broken()) return true;
  if (now_us < retry_us_) return false;
  if (asking_node_.silent || !connect()) {
    asking_node_.silent = true;
    retry_us_ = now_us + parts_.connect_timeout_us;
    close();
    return false;
  }
  connection_ = *peers_.find(node_);
  const rdma::RemoteAddress ring{.node = node_,
                                 .region = parts_.layout.region,
                                 .generation = parts_.endpoint.peer_generation(connection_),
                                 .offset = parts_.layout.answer_ring(worker_, parts_.own_node)};
  ++connections_;
  sender_.emplace(parts_.endpoint, connection_,
                  rdma::mailbox::SenderPlace{.ring = ring,
                                             .ring_bytes = parts_.layout.ring_bytes,
                                             .most_bytes = parts_.layout.most_bytes,
                                             .staging = parts_.mailboxes + parts_.layout.answer_staging(node_, worker_),
                                             .tag = connections_ << kNumberBits | number()});
  if (!rpc_) {
    rpc_.emplace(*sender_, receiver_, [this](Rpc::CallId call, std::string_view request, std::string& message) {
      return handle(call, request, message);
    });
  }
  cc::bump(counts_.connected, std::uint64_t{1});
  return true;
}

/// A worker that has begun a session lived a moment ago, so it is worth some patience: what it has asked would be
/// thrown away, and it asks again only when its question has timed out. That of a node that came back would serve so
/// much later. If the node is silent all the same, it has ended since, and what its other workers have asked in this
/// step is thrown away without another attempt.
bool Service::Link::connect() {
  constexpr unsigned kAttempts = 3;
  const unsigned most = begins_ ? kAttempts : 1;
  for (unsigned attempt = 0; attempt < most; ++attempt) {
    if (most > 1) peers_.note_heard(node_);
    if (peers_.connect(node_, parts_.connect_timeout_us).ok()) return true;
  }
  begins_ = false;
  return false;
}

/// Nobody answers a call that is under way then: the next Rpc has put off no answer.
void Service::Link::close() {
  rpc_.reset();
  sender_.reset();
  ++answering_;
}

/// A worker that is cut off again and again is heard less and less. The connection is that of all workers of its node,
/// so it stays.
void Service::Link::cut_off(std::uint64_t now_us) {
  constexpr std::uint64_t kFirst_us = 1'000, kLongest_us = 10'000'000;
  distrust_us_ = std::clamp(2 * distrust_us_, kFirst_us, kLongest_us);
  trusted_again_us_ = now_us + distrust_us_;
  close();
  cut_off_ = true;
  cc::bump(counts_.cut_off, std::uint64_t{1});
}

/// Drops the messages of a worker that cannot be answered; its questions time out.
void Service::Link::throw_away() {
  close();
  while (receiver_.poll()) {
  }
}

void Service::Link::completed(const rdma::Completion& completion) {
  if (!sender_ || completion.tag >> kNumberBits != connections_) return;
  if (completion.status != rdma::CompletionStatus::kBroken) begins_ = false;
  sender_->completed(completion);
}

void Service::Link::finished(const CallQueue::Finished& finished) {
  if (!rpc_ || finished.ticket.session != answering_) return;
  std::string message;
  encode_answer(RequestType::kCall, CallAnswer{finished.result}, message);
  rpc_->answer(finished.ticket.call, message);
}

bool Service::Link::handle(Rpc::CallId call, std::string_view request, std::string& message) {
  cc::bump(counts_.requests, std::uint64_t{1});
  Frame frame;
  if (garbage_ || !open_frame(request, frame)) return garbage(message), true;
  const auto type = static_cast<RequestType>(frame.type);
  if (frame.version != kVersion) return refuse(type, ReplyStatus::kOtherVersion, message), true;
  switch (type) {
    case RequestType::kDescribe: return answer<Describe>(frame, message), true;
    case RequestType::kFindRecord: return answer<FindRecord>(frame, message), true;
    case RequestType::kScan: return answer<Scan>(frame, message), true;
    case RequestType::kSnapshotGet: return answer<SnapshotGet>(frame, message), true;
    case RequestType::kSnapshotScan: return answer<SnapshotScan>(frame, message), true;
    case RequestType::kLendBlocks: return answer<LendBlocks>(frame, message), true;
    case RequestType::kNoteRemoved: return answer<NoteRemoved>(frame, message), true;
    case RequestType::kCall: return handle_call(call, frame, message);
    case RequestType::kControl: return handle_control(frame, message), true;
    case RequestType::kListFiles: return answer_file<ListFiles>(frame, message), true;
    case RequestType::kReadFile: return answer_file<ReadFile>(frame, message), true;
    case RequestType::kKeepVersion: break;
  }
  return refuse(type, ReplyStatus::kUnknownType, message), true;
}

/// The owner has to know who borrows.
template <typename Request>
ReplyStatus Service::Link::answer_of(const Request& request, typename Request::Answer& answer) {
  if constexpr (std::same_as<Request, LendBlocks>) {
    return parts_.owner.answer(request, answer, {.node = node_, .worker = worker_});
  } else {
    return parts_.owner.answer(request, answer);
  }
}

template <typename Request>
void Service::Link::answer(const Frame& frame, std::string& message) {
  auto& [request, answer] = std::get<Exchange<Request>>(exchanges_);
  if (!decode(frame.body, request)) return garbage(message);
  static const typename Request::Answer kNone;
  answer = kNone;  // a copy, so that its vectors keep their memory
  const ReplyStatus status = answer_of(request, answer);
  if (status != ReplyStatus::kDone) return refuse(Request::kType, status, message);
  encode_answer(Request::kType, answer, message);
  base::sync_point("service.answered");
}

bool Service::Link::handle_call(Rpc::CallId call, const Frame& frame, std::string& message) {
  Call request;
  if (!decode(frame.body, request)) return garbage(message), true;
  if (parts_.calls == nullptr) return refuse(RequestType::kCall, ReplyStatus::kNoHandler, message), true;
  const bool taken = parts_.calls->put({.ticket = {number(), answering_, call},
                                        .procedure = std::string(request.procedure),
                                        .arguments = std::string(request.arguments)});
  if (!taken) refuse(RequestType::kCall, ReplyStatus::kOverloaded, message);
  return !taken;
}

void Service::Link::handle_control(const Frame& frame, std::string& message) {
  Control request;
  if (!decode(frame.body, request)) return garbage(message);
  if (!parts_.control) return refuse(RequestType::kControl, ReplyStatus::kNoHandler, message);
  encode_answer(RequestType::kControl, ControlAnswer{parts_.control(node_, request.bytes)}, message);
}

template <typename Request>
void Service::Link::answer_file(const Frame& frame, std::string& message) {
  Request request;
  if (!decode(frame.body, request)) return garbage(message);
  if (parts_.files == nullptr) return refuse(Request::kType, ReplyStatus::kNoHandler, message);
  typename Request::Answer answer;
  parts_.files->answer(request, answer);
  encode_answer(Request::kType, answer, message);
}

template <typename Answer>
void Service::Link::encode_answer(RequestType type, const Answer& answer, std::string& message) {
  encode(type, answer, message);
  if (message.size() + Rpc::kHeaderBytes > parts_.layout.most_bytes) refuse(type, ReplyStatus::kTooLarge, message);
}

void Service::Link::refuse(RequestType type, ReplyStatus status, std::string& message) {
  cc::bump(counts_.refused, std::uint64_t{1});
  encode_refusal(type, status, message);
}

void Service::Link::garbage(std::string& message) {
  garbage_ = true;
  message.clear();
}

}  // namespace granary::cluster::messages
