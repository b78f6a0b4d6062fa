#pragma once
// A connection that carries frames (message.h), without Nagle's delay. What is to be sent gathers until flush().

#include <string>
#include <string_view>

#include "bench/store/two_pc/message.h"
#include "bench/store/two_pc/socket.h"

namespace granary::bench::two_pc {

struct Frame {
  Kind kind = Kind::kPing;
  std::string_view body = {};  ///< until the stream receives again
};

class Stream {
 public:
  enum class Came { kSomething, kNothing, kEnd };

  /// Of a connected socket, which may block or not.
  explicit Stream(Socket socket);

  void add(Kind kind, std::string_view body);
  /// False if the connection has ended. What a socket that does not block does not take now, stays.
  bool flush();
  bool has_unsent() const { return !out_.empty(); }

  /// Takes in what has come. kNothing: nothing now, or none until the socket's time-out.
  Came receive();
  /// The next frame that is there as a whole. A body of more than `most_bytes` makes the stream broken.
  bool next(Frame& frame, std::uint32_t most_bytes = kMostBytes);
  bool is_broken() const { return broken_; }
  int descriptor() const { return socket_.get(); }

 private:
  Socket socket_;
  std::string in_, out_;
  std::size_t taken_ = 0;  // of in_, by next()
  bool broken_ = false;
};

}  // namespace granary::bench::two_pc
