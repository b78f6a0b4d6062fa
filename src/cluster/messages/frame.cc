#include "src/cluster/messages/frame.h"

#include "src/base/crc32c.h"
#include "src/base/test_hooks.h"

namespace granary::cluster::messages {
namespace {

constexpr std::size_t kSumBytes = sizeof(std::uint32_t);

std::uint32_t sum_of(std::string_view message) {
  return base::crc32c(0, message.data() + kSumBytes, message.size() - kSumBytes);
}

}  // namespace

void begin_frame(std::string& message) { message.assign(kFrameBytes, '\0'); }

void end_frame(std::string& message, RequestType type, ReplyStatus status) {
  message[4] = static_cast<char>(kVersion);
  message[5] = static_cast<char>(type);
  message[6] = static_cast<char>(status);
  const std::uint32_t sum = sum_of(message);
  std::memcpy(message.data(), &sum, sizeof sum);
}

void encode_refusal(RequestType type, ReplyStatus status, std::string& message) {
  begin_frame(message);
  end_frame(message, type, status);
}

bool open_frame(std::string_view message, Frame& frame) {
  if (message.size() < kFrameBytes) return false;
  Reader reader(message);
  std::uint32_t sum = 0;
  std::uint8_t unused = 0;
  const bool whole = reader.get(sum) && (sum == sum_of(message) || base::injected("skip-message-checksum")) &&
                     reader.get(frame.version) && reader.get(frame.type) && reader.get(frame.status) &&
                     reader.get(unused) && unused == 0;
  frame.body = message.substr(kFrameBytes);
  return whole;
}

std::string_view name(ReplyStatus status) {
  switch (status) {
    case ReplyStatus::kDone: return "done";
    case ReplyStatus::kUnknownType: return "no such kind of request";
    case ReplyStatus::kOtherVersion: return "another version of messages";
    case ReplyStatus::kUnknownTable: return "no such table";
    case ReplyStatus::kNotShared: return "a table that is not shared";
    case ReplyStatus::kNotOrdered: return "a table without order";
    case ReplyStatus::kKeyTooLong: return "key too long";
    case ReplyStatus::kBusy: return "record busy";
    case ReplyStatus::kOutOfMemory: return "out of memory";
    case ReplyStatus::kOverloaded: return "too many calls waiting";
    case ReplyStatus::kUnknownProcedure: return "no such procedure";
    case ReplyStatus::kNoSnapshots: return "no such snapshot";
    case ReplyStatus::kNoHandler: return "nobody answers such requests";
    case ReplyStatus::kTooLarge: return "answer too large";
    case ReplyStatus::kHeldByDead: return "record held by a dead node";
    case ReplyStatus::kImmutable: return "immutable table";
  }
  return "unknown status";
}

}  // namespace granary::cluster::messages
