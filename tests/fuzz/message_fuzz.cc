// Messages between nodes, requests and answers of every kind: whatever the bytes, they are refused or understood, and
// what is understood is written back byte for byte. Requests that are understood are answered by a node with a few
// records, whatever tables, keys, holders, epochs and TIDs they name. Bit 0 of the first byte: the checksum is put
// right first.

#include <cstring>
#include <string>

#include "src/base/check.h"
#include "src/base/crc32c.h"
#include "src/cluster/messages/frame.h"
#include "tests/fuzz/asked_node.h"
#include "tests/fuzz/target.h"

namespace granary {
namespace {

using namespace cluster::messages;

void mend_checksum(std::string& message) {
  if (message.size() < kFrameBytes) return;
  const std::uint32_t sum = base::crc32c(0, message.data() + sizeof sum, message.size() - sizeof sum);
  std::memcpy(message.data(), &sum, sizeof sum);
}

template <typename T>
bool understood(std::string_view body) {
  T value;
  if (!decode(body, value)) return false;
  std::string again;
  Writer(again).put(value);
  base::always_check(again == body, "what is understood is written back the same");
  return true;
}

template <typename Request>
bool request_or_answer(std::string_view body) {
  const bool request = understood<Request>(body);
  return understood<typename Request::Answer>(body) || request;
}

fuzz::AskedNode& asked_node() {
  static fuzz::AskedNode node;
  return node;
}

template <typename Request>
void ask(std::string_view body) {
  Request request;
  if (decode(body, request)) asked_node().ask(request);
}

/// Of a kind that the owner of the data answers.
template <typename Request>
bool question_or_answer(std::string_view body) {
  ask<Request>(body);
  return request_or_answer<Request>(body);
}

bool understood(const Frame& frame) {
  switch (static_cast<RequestType>(frame.type)) {
    case RequestType::kDescribe: return question_or_answer<Describe>(frame.body);
    case RequestType::kFindRecord: return question_or_answer<FindRecord>(frame.body);
    case RequestType::kScan: return question_or_answer<Scan>(frame.body);
    case RequestType::kSnapshotGet: return question_or_answer<SnapshotGet>(frame.body);
    case RequestType::kSnapshotScan: return question_or_answer<SnapshotScan>(frame.body);
    case RequestType::kNoteRemoved: return question_or_answer<NoteRemoved>(frame.body);
    case RequestType::kCall: return question_or_answer<Call>(frame.body);
    case RequestType::kControl: return request_or_answer<Control>(frame.body);
    case RequestType::kListFiles: return request_or_answer<ListFiles>(frame.body);
    case RequestType::kReadFile: return request_or_answer<ReadFile>(frame.body);
    case RequestType::kLendBlocks: return question_or_answer<LendBlocks>(frame.body);
    case RequestType::kKeepVersion: break;
  }
  return false;
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::string message(input.substr(1));
  if ((input[0] & 1) != 0) mend_checksum(message);
  cluster::messages::Frame frame;
  return open_frame(message, frame) && understood(frame);
}

}  // namespace granary
