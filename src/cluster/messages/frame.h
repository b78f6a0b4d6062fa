#pragma once
// A message's frame: how a request or an answer lies in a mailbox's message.
//
//   | CRC32C of the rest 32 | version 8 | type 8 | status 8 (requests: 0) | unused 8 (0) | body |

#include <cstdint>
#include <string>
#include <string_view>

#include "src/cluster/messages/requests.h"

namespace granary::cluster::messages {

/// The version of frames and bodies. Nodes with another version are refused when they connect, so this check is a
/// second line (I26).
inline constexpr std::uint8_t kVersion = 9;
inline constexpr std::size_t kFrameBytes = 8;

struct Frame {
  std::uint8_t version = kVersion;
  std::uint8_t type = 0;  ///< perhaps one that this node does not know
  ReplyStatus status = ReplyStatus::kDone;
  std::string_view body;
};

/// Body first: `message`, whose memory is used again, begins with room for the frame.
void begin_frame(std::string& message);
void end_frame(std::string& message, RequestType type, ReplyStatus status);

/// False if the bytes are damaged or no frame.
bool open_frame(std::string_view message, Frame& frame);

/// Writes the whole message of a value into `message`.
template <typename T>
void encode(RequestType type, const T& value, std::string& message) {
  begin_frame(message);
  Writer(message).put(value);
  end_frame(message, type, ReplyStatus::kDone);
}
template <typename T>
std::string encode(RequestType type, const T& value) {
  std::string message;
  encode(type, value, message);
  return message;
}
template <typename Request>
std::string encode_request(const Request& request) {
  return encode(Request::kType, request);
}
/// Writes an answer without a body into `message`.
void encode_refusal(RequestType type, ReplyStatus status, std::string& message);

/// The body is all of a T, and nothing else. Views in it are into the body.
template <typename T>
bool decode(std::string_view body, T& value) {
  Reader reader(body);
  return reader.get(value) && reader.ended();
}

}  // namespace granary::cluster::messages
