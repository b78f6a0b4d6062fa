#pragma once
// A message's frame: how a request or an answer lies in a mailbox's message.
//
//   | CRC32C of the rest 32 | version 8 | type 8 | verdict 8 (requests: 0) | unused 8 (0) | body |

#include <cstdint>
#include <string>
#include <string_view>

#include "src/cluster/messages/requests.h"

namespace granary::cluster::messages {

/// The version of frames and bodies. Nodes with another version are refused when they connect, so this check is a second
/// line (I26).
inline constexpr std::uint8_t kVersion = 3;
inline constexpr std::size_t kFrameBytes = 8;

struct Frame {
  std::uint8_t version = kVersion;
  std::uint8_t type = 0;  ///< perhaps one that this node does not know
  Verdict verdict = Verdict::kDone;
  std::string_view body;
};

/// Body first: the writer begins with room for the frame.
Writer begin_frame();
std::string end_frame(Writer writer, Type type, Verdict verdict);

/// False if the bytes are damaged or no frame.
bool open_frame(std::string_view message, Frame& frame);

template <typename T>
std::string encode(Type type, const T& value) {
  Writer writer = begin_frame();
  writer.put(value);
  return end_frame(std::move(writer), type, Verdict::kDone);
}
template <typename Request>
std::string encode_request(const Request& request) {
  return encode(Request::kType, request);
}
/// An answer without a body.
std::string encode_refusal(Type type, Verdict verdict);

/// The body is all of a T, and nothing else. Views in it are into the body.
template <typename T>
bool decode(std::string_view body, T& value) {
  Reader reader(body);
  return reader.get(value) && reader.ended();
}

}  // namespace granary::cluster::messages
