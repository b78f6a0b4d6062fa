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

void end_frame(std::string& message, Type type, Verdict verdict) {
  message[4] = static_cast<char>(kVersion);
  message[5] = static_cast<char>(type);
  message[6] = static_cast<char>(verdict);
  const std::uint32_t sum = sum_of(message);
  std::memcpy(message.data(), &sum, sizeof sum);
}

void encode_refusal(Type type, Verdict verdict, std::string& message) {
  begin_frame(message);
  end_frame(message, type, verdict);
}

bool open_frame(std::string_view message, Frame& frame) {
  if (message.size() < kFrameBytes) return false;
  Reader reader(message);
  std::uint32_t sum = 0;
  std::uint8_t unused = 0;
  const bool whole = reader.get(sum) && (sum == sum_of(message) || base::injected("skip-message-checksum")) &&
                     reader.get(frame.version) && reader.get(frame.type) && reader.get(frame.verdict) &&
                     reader.get(unused) && unused == 0;
  frame.body = message.substr(kFrameBytes);
  return whole;
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDone: return "done";
    case Verdict::kUnknownType: return "no such kind of request";
    case Verdict::kOtherVersion: return "another version of messages";
    case Verdict::kUnknownTable: return "no such table";
    case Verdict::kNotShared: return "a table that is not shared";
    case Verdict::kNotOrdered: return "a table without order";
    case Verdict::kKeyTooLong: return "key too long";
    case Verdict::kBusy: return "record busy";
    case Verdict::kOutOfMemory: return "out of memory";
    case Verdict::kOverloaded: return "too many calls waiting";
    case Verdict::kUnknownProcedure: return "no such procedure";
    case Verdict::kNoSnapshots: return "no such snapshot";
    case Verdict::kNoHandler: return "nobody answers such requests";
    case Verdict::kTooLarge: return "answer too large";
    case Verdict::kHeldByDead: return "record held by a dead node";
    case Verdict::kImmutable: return "immutable table";
  }
  return "unknown verdict";
}

}  // namespace granary::cluster::messages
