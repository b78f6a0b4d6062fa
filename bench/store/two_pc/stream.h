#pragma once
// A connection that carries frames (message.h), without Nagle's delay. Frames to send gather until flush().

#include <string>
#include <string_view>

#include "bench/store/two_pc/message.h"
#include "bench/store/two_pc/socket.h"

namespace granary::bench::two_pc {

struct Frame {
  Kind kind = Kind::kPing;
  std::string_view body = {};  ///< valid until the stream receives again
};

class Stream {
 public:
  enum class Came { kSomething, kNothing, kEnd };

  /// Takes a connected socket, which may block or not.
  explicit Stream(Socket socket);

  void add(Kind kind, std::string_view body);
  /// Sends all frames that were added. Returns false if the connection has ended. If the socket does not block, bytes
  /// that it does not take now stay for the next flush().
  bool flush();
  bool has_unsent() const { return !out_.empty(); }

  /// Receives bytes that have come. Returns kNothing if there are none now, or none came until the socket's time-out.
  Came receive();
  /// Takes the next frame, and returns whether a whole one was there. A frame whose body has more than `most_bytes`
  /// breaks the stream.
  bool next(Frame& frame, std::uint32_t most_bytes = kMostBytes);
  bool is_broken() const { return broken_; }
  int descriptor() const { return socket_.get(); }

 private:
  Socket socket_;
  std::string in_, out_;
  std::size_t taken_ = 0;  // how many bytes of in_ next() has taken
  bool broken_ = false;
};

}  // namespace granary::bench::two_pc
