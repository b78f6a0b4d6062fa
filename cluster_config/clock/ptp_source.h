#pragma once
// Reads the time of hosts that linuxptp keeps together: the system clock, which ptp4l steers (with hardware time
// stamps, phc2sys does).
//
// The cluster agrees on how far any node's clock may be from the grandmaster's, `max_error_us`; δ is twice that. Each
// node checks that its own clock is not further away. It asks ptp4l for the state, the offset and the path delay
// several times a second, and the kernel for the last steering of its clock. It knows no bound unless all answers are
// good and fresh. The grandmaster is named, because a node that loses it may elect itself. Without the name, each of
// two halves of a cluster would think that its clocks are in order.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <granary/status.h>

#include "cluster_config/clock/ptp_message.h"
#include "cluster_config/clock/ptp_socket.h"
#include "cluster_config/clock/time_source.h"

namespace granary::cluster_config::clock {

/// Tells how the kernel's clock is steered (adjtimex).
struct Discipline {
  bool synchronized = false;
  std::uint64_t max_error_us = 0;  ///< the kernel lets it grow since the last steering, by 500 us a second
};
Discipline kernel_discipline();

struct PtpOptions {
  std::string socket = "/var/run/ptp4l";
  std::uint8_t domain = 0;
  std::string grandmaster{};              ///< "001122.fffe.334455": pmc's "GET TIME_STATUS_NP" tells it as gmIdentity
  std::uint64_t max_error_us = 50;        ///< for each node's clock; leases are told apart by twice as much
  std::uint64_t ask_us = 200'000;         ///< how often it asks
  std::uint64_t stale_us = 1'500'000;     ///< answers to older questions do not count any more
  std::uint64_t measured_us = 1'000'000;  ///< so long after forget(), ptp4l tells what it has measured since
  std::uint64_t steered_us = 5'000;       ///< the greatest estimate of the kernel's own: 10 s without steering
  std::function<Discipline()> discipline = kernel_discipline;
};

class PtpSource final : public TimeSource {
 public:
  static Result<std::unique_ptr<PtpSource>> open(const PtpOptions& options);

  std::uint64_t time_us() override;
  Bound bound(std::uint64_t now_us) override;
  void forget() override;

 private:
  template <typename Data>
  struct Known {
    Data data{};
    std::uint64_t asked_us = 0;
  };

  PtpSource(const PtpOptions& options, const ptp::ClockIdentity& grandmaster);
  void ask(std::uint64_t now_us);
  void take_answers();
  void take(const ptp::Answer& answer);
  template <typename Data>
  bool fresh(const std::optional<Known<Data>>& known, std::uint64_t now_us) const;

  Bound judge(std::uint64_t now_us) const;
  Bound judge_slave() const;

  const PtpOptions options_;
  const ptp::ClockIdentity grandmaster_;
  ptp::Socket socket_;
  std::uint16_t sequence_ = 0;
  std::optional<std::uint64_t> asked_us_;  ///< when the last questions were sent
  bool forgotten_ = false;
  std::uint64_t ask_from_us_ = 0;
  std::string unreachable_;  ///< why they could not be sent
  std::optional<Known<ptp::CurrentData>> current_;
  std::optional<Known<ptp::TimeStatus>> status_;
  std::map<std::uint16_t, std::optional<Known<ptp::PortData>>> ports_;
};

}  // namespace granary::cluster_config::clock
