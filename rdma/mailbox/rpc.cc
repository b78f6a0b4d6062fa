#include "rdma/mailbox/rpc.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace granary::rdma::mailbox {
namespace {

enum class Kind : std::uint64_t { kRequest = 1, kAnswer = 2 };

/// The header of each message.
struct Header {
  Kind kind;
  Rpc::CallId call;
};
static_assert(sizeof(Header) == Rpc::kHeaderBytes);

std::string with_header(Kind kind, Rpc::CallId call, std::string_view body) {
  const Header header{kind, call};
  std::string message(sizeof header, '\0');
  std::memcpy(message.data(), &header, sizeof header);
  message += body;
  return message;
}

}  // namespace

SendResult Rpc::call(std::string_view request, std::uint64_t now_us, std::uint64_t timeout_us, Done done) {
  if (calls_.size() >= kMostCalls) return SendResult::kFull;
  const SendResult result = sender_.send(with_header(Kind::kRequest, last_call_ + 1, request));
  if (result != SendResult::kTaken) return result;
  calls_[++last_call_] = {now_us + timeout_us, std::move(done)};
  return result;
}

std::uint64_t Rpc::next_deadline_us() const {
  std::uint64_t next = ~std::uint64_t{0};
  for (const auto& [id, call] : calls_) next = std::min(next, call.deadline_us);
  return next;
}

void Rpc::step(std::uint64_t now_us) {
  while (const auto message = receiver_.poll()) take(*message);
  send_answers();
  sender_.step();
  end_overdue(now_us);
}

/// A message that is too short or of no known kind is dropped: it comes from another process (I26).
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
  if (answers_.size() + put_off_ >= kMostCalls) return;
  if (const std::optional<std::string> body = handler_(call, request)) {
    answers_.push_back(with_header(Kind::kAnswer, call, *body));
  } else {
    ++put_off_;
  }
}

void Rpc::answer(CallId call, std::string_view body) {
  --put_off_;
  answers_.push_back(with_header(Kind::kAnswer, call, body));
}

/// Sends answers, but not before the caller serves the sender. If the connection turns out to be broken already, as one to
/// an earlier life of the caller's node is, answers wait for another sender in this one's place. An answer that the sender
/// will never take is dropped, and the caller's time runs out.
void Rpc::send_answers() {
  while (!answers_.empty() && sender_.served() && sender_.send(answers_.front()) != SendResult::kFull)
    answers_.pop_front();
}

void Rpc::end_overdue(std::uint64_t now_us) {
  std::vector<CallId> over;
  for (const auto& [id, call] : calls_) {
    if (sender_.broken() || call.deadline_us <= now_us) over.push_back(id);
  }
  for (const CallId id : over) end(id, sender_.broken() ? CallOutcome::kBroken : CallOutcome::kTimedOut, {});
}

void Rpc::end(CallId call, CallOutcome outcome, std::string_view answer) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  const Done done = std::move(found->second.done);
  calls_.erase(found);
  done(outcome, answer);
}

}  // namespace granary::rdma::mailbox
