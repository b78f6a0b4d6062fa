#include "src/cluster/messages/question.h"

namespace granary::cluster::messages {

void Question::receive(std::string_view message) {
  Frame frame;
  if (!open_frame(message, frame) || frame.type != static_cast<std::uint8_t>(type()))
    return end(AskOutcome::kMalformed);
  status_ = frame.version == kVersion ? frame.status : ReplyStatus::kOtherVersion;
  if (status_ == ReplyStatus::kTooLarge) return end(AskOutcome::kAnswerTooLarge);
  if (status_ != ReplyStatus::kDone) return end(AskOutcome::kRefused);
  end(decode_answer(frame.body) ? AskOutcome::kAnswered : AskOutcome::kMalformed);
}

std::string_view name(AskOutcome outcome) {
  switch (outcome) {
    case AskOutcome::kOpen: return "open";
    case AskOutcome::kAnswered: return "answered";
    case AskOutcome::kRefused: return "refused";
    case AskOutcome::kTimedOut: return "timed out";
    case AskOutcome::kBroken: return "connection broken";
    case AskOutcome::kMalformed: return "malformed answer";
    case AskOutcome::kTooLarge: return "question too large";
    case AskOutcome::kAnswerTooLarge: return "done, and the answer is too large";
    case AskOutcome::kNoMemory: return "no memory here for question or answer";
  }
  return "unknown outcome";
}

std::string how_it_ended(const Question& question) {
  const std::string outcome(name(question.outcome()));
  if (question.outcome() != AskOutcome::kRefused) return outcome;
  return outcome + " (" + std::string(name(question.status())) + "), so that nothing was done";
}

}  // namespace granary::cluster::messages
