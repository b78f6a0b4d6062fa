#pragma once
// Stands for ptp4l: a Unix socket that answers as it is told to.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/clock/ptp_message.h"

namespace granary::cluster_config::clock::ptp {

inline void append(std::vector<std::uint8_t>& bytes, std::uint64_t number, unsigned size) {
  while (size-- > 0) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * size)));
}

/// As ptp4l would answer this request.
inline std::vector<std::uint8_t> answer_to(std::vector<std::uint8_t> request, const std::vector<std::uint8_t>& data) {
  request[46] = 2;  // RESPONSE
  request[51] = static_cast<std::uint8_t>(2 + data.size());
  request.insert(request.end(), data.begin(), data.end());
  request[2] = 0;
  request[3] = static_cast<std::uint8_t>(request.size());
  return request;
}
inline DataSet asked_for(const std::vector<std::uint8_t>& request) {
  return static_cast<DataSet>(request[52] << 8 | request[53]);
}

struct Ptp4lState {
  std::vector<std::uint8_t> port_states{kSlave};
  std::uint16_t steps_removed = 1;
  std::int64_t offset_ns = 300;
  std::int64_t path_delay_ns = 1'800;
  bool grandmaster_present = true;
  ClockIdentity grandmaster{};
};

inline std::vector<std::uint8_t> current_data(const Ptp4lState& state) {
  std::vector<std::uint8_t> data;
  append(data, state.steps_removed, 2);
  append(data, static_cast<std::uint64_t>(state.offset_ns * 65536), 8);
  append(data, static_cast<std::uint64_t>(state.path_delay_ns * 65536), 8);
  return data;
}
inline std::vector<std::uint8_t> port_data(std::uint16_t port, std::uint8_t state) {
  std::vector<std::uint8_t> data(8, 0xAB);  // the clock's identity
  append(data, port, 2);
  append(data, state, 1);
  data.resize(26);
  return data;
}
inline std::vector<std::uint8_t> time_status(const Ptp4lState& state) {
  std::vector<std::uint8_t> data;
  append(data, static_cast<std::uint64_t>(state.offset_ns), 8);
  data.resize(38);
  append(data, state.grandmaster_present ? 1 : 0, 4);
  data.insert(data.end(), state.grandmaster.begin(), state.grandmaster.end());
  return data;
}

class FakePtp4l {
 public:
  explicit FakePtp4l(const std::string& path)
      : path_(path),
        descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un own{};
    own.sun_family = AF_UNIX;
    std::strncpy(own.sun_path, path.c_str(), sizeof own.sun_path - 1);
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  }
  ~FakePtp4l() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }

  /// Answers what has been asked so far; `spoil` has its way with each answer.
  template <typename Spoil>
  unsigned serve(Spoil&& spoil) {
    unsigned served = 0;
    for (;; ++served) {
      std::vector<std::uint8_t> request(kMostMessageBytes);
      sockaddr_un from{};
      socklen_t size = sizeof from;
      const ssize_t bytes =
          ::recvfrom(descriptor_, request.data(), request.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (bytes < 0) return served;
      request.resize(static_cast<std::size_t>(bytes));
      for (std::vector<std::uint8_t>& answer : answers_to(request)) {
        spoil(answer);
        (void)::sendto(descriptor_, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
      }
    }
  }
  unsigned serve() {
    return serve([](std::vector<std::uint8_t>&) {});
  }

  Ptp4lState state;

 private:
  std::vector<std::vector<std::uint8_t>> answers_to(const std::vector<std::uint8_t>& request) const {
    switch (asked_for(request)) {
      case DataSet::kCurrent: return {answer_to(request, current_data(state))};
      case DataSet::kTimeStatus: return {answer_to(request, time_status(state))};
      case DataSet::kPort: break;
    }
    std::vector<std::vector<std::uint8_t>> answers;
    for (std::size_t i = 0; i < state.port_states.size(); ++i)
      answers.push_back(answer_to(request, port_data(static_cast<std::uint16_t>(i + 1), state.port_states[i])));
    return answers;
  }

  const std::string path_;
  const int descriptor_;
};

}  // namespace granary::cluster_config::clock::ptp
