#include "rdma/mailbox/rpc.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace granary::rdma::mailbox {
namespace {

enum class Kind : std::uint64_t { kRequest = 1, kAnswer = 2 };

/// The header of each message.
struct Header {
  Kind kind;
  Rpc::CallId call;
};
static_assert(sizeof(Header) == Rpc::kHeaderBytes);

SendResult send(Sender& sender, Kind kind, Rpc::CallId call, std::string_view body) {
  const Header header{kind, call};
  return sender.send({reinterpret_cast<const char*>(&header), sizeof header}, body);
}

}  // namespace

SendResult Rpc::call(std::string_view request, std::uint64_t now_us, std::uint64_t timeout_us, Done done) {
  if (calls_.size() >= kMostCalls) return SendResult::kFull;
  calls_.reserve(calls_.size() + 1);  // a call that has been sent is noted whatever happens
  const SendResult result = send(sender_, Kind::kRequest, last_call_ + 1, request);
  if (result == SendResult::kTaken) calls_.push_back({++last_call_, now_us + timeout_us, std::move(done)});
  return result;
}

std::uint64_t Rpc::next_deadline_us() const {
  std::uint64_t next = ~std::uint64_t{0};
  for (const Call& call : calls_) next = std::min(next, call.deadline_us);
  return next;
}

void Rpc::step(std::uint64_t now_us) {
  while (const auto message = receiver_.poll()) take(*message);
  send_answers();
  sender_.step();
  end_overdue(now_us);
}

/// Takes a message. One that is too short or of no known kind is dropped, as it comes from another process (I26).
void Rpc::take(std::string_view message) {
  Header header{};
  if (message.size() >= sizeof header) std::memcpy(&header, message.data(), sizeof header);
  if (header.kind == Kind::kRequest) {
    handle(header.call, message.substr(sizeof header));
  } else if (header.kind == Kind::kAnswer) {
    end(header.call, CallOutcome::kAnswered, message.substr(sizeof header));
  } else {
    ++senseless_;
  }
}

void Rpc::handle(CallId call, std::string_view request) {
  if (waiting_ + put_off_ >= kMostCalls) return;
  if (!handler_(call, request, add_answer(call).body)) {
    --waiting_;
    ++put_off_;
  }
}

Rpc::Answer& Rpc::add_answer(CallId call) {
  if (waiting_ == answers_.size()) answers_.emplace_back();
  Answer& answer = answers_[waiting_++];
  answer.call = call;
  answer.body.clear();
  return answer;
}

void Rpc::answer(CallId call, std::string_view body) {
  --put_off_;
  add_answer(call).body = body;
}

/// Sends answers, but not before the caller serves the sender. If the connection turns out to be broken already, as a
/// connection to an earlier life of the caller's node is, the answers wait for another sender in this one's place. An
/// answer that the sender will never take is dropped, and the caller's time runs out.
void Rpc::send_answers() {
  std::size_t sent = 0;
  const auto send_next = [&] { return send(sender_, Kind::kAnswer, answers_[sent].call, answers_[sent].body); };
  while (sent < waiting_ && sender_.served()) {
    const SendResult result = send_next();
    if (result == SendResult::kFull || result == SendResult::kBroken) break;
    ++sent;
  }
  if (sent == 0) return;
  const auto first = answers_.begin();
  std::rotate(first, first + static_cast<std::ptrdiff_t>(sent), first + static_cast<std::ptrdiff_t>(waiting_));
  waiting_ -= sent;
}

void Rpc::end_overdue(std::uint64_t now_us) {
  const CallId last = last_call_;  // what ends may make other calls
  const auto is_over = [&](const Call& call) {
    return call.id <= last && (sender_.broken() || call.deadline_us <= now_us);
  };
  for (auto over = std::ranges::find_if(calls_, is_over); over != calls_.end();
       over = std::ranges::find_if(calls_, is_over)) {
    end(over->id, sender_.broken() ? CallOutcome::kBroken : CallOutcome::kTimedOut, {});
  }
}

void Rpc::end(CallId call, CallOutcome outcome, std::string_view answer) {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [call](const Call& one) { return one.id == call; });
  if (found == calls_.end()) return;
  const Done done = std::move(found->done);
  calls_.erase(found);
  done(outcome, answer);
}

}  // namespace granary::rdma::mailbox
