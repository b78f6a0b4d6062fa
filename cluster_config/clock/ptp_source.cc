#include "cluster_config/clock/ptp_source.h"

#include <fmt/format.h>
#include <sys/timex.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>
#include <variant>

#include "cluster_config/clock/system_time.h"

namespace granary::cluster_config::clock {

using ptp::Answer;
using ptp::CurrentData;
using ptp::DataSet;
using ptp::PortData;
using ptp::TimeStatus;

Discipline kernel_discipline() {
  timex state{};
  const int result = ::adjtimex(&state);
  return {.synchronized = result >= 0 && result != TIME_ERROR && (state.status & STA_UNSYNC) == 0,
          .max_error_us = static_cast<std::uint64_t>(state.maxerror)};
}

Result<std::unique_ptr<PtpSource>> PtpSource::open(const PtpOptions& options) {
  const std::optional<ptp::ClockIdentity> grandmaster = ptp::parse_identity(options.grandmaster);
  if (!grandmaster)
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the clock's grandmaster is '{}', which is no clock identity like 001122.fffe.334455; "
                              "\"pmc -u -b 0 'GET TIME_STATUS_NP'\" shows it as gmIdentity",
                              options.grandmaster));
  if (options.max_error_us == 0)
    return Status(StatusCode::kInvalidArgument, "the clock's greatest error is 0 us; over PTP it is at least 1");
  return std::unique_ptr<PtpSource>(new PtpSource(options, *grandmaster));
}

PtpSource::PtpSource(const PtpOptions& options, const ptp::ClockIdentity& grandmaster)
    : options_(options),
      grandmaster_(grandmaster),
      socket_(options.socket) {}

std::uint64_t PtpSource::time_us() { return static_cast<std::uint64_t>(system_ns(CLOCK_REALTIME)) / 1000; }

Bound PtpSource::bound(std::uint64_t now_us) {
  take_answers();
  if (std::exchange(forgotten_, false)) ask_from_us_ = now_us + options_.measured_us;
  if (now_us < ask_from_us_)
    return Bound::none("the clock was set, or nobody looked at it for a while; ptp4l is measuring it anew");
  if (!asked_us_ || now_us - *asked_us_ >= options_.ask_us) ask(now_us);
  return judge(now_us);
}

void PtpSource::forget() {
  current_.reset();
  status_.reset();
  ports_.clear();
  ++sequence_;  // answers under way are older than this
  forgotten_ = true;
}

/// Asks for all three data sets by one number. Answers to an earlier number come too late.
void PtpSource::ask(std::uint64_t now_us) {
  asked_us_ = now_us;
  ++sequence_;
  unreachable_.clear();
  for (const DataSet what : {DataSet::kPort, DataSet::kCurrent, DataSet::kTimeStatus}) {
    if (socket_.send(ptp::get_request(what, options_.domain, sequence_))) continue;
    unreachable_ = fmt::format("ptp4l cannot be reached at {}: {}", options_.socket, std::strerror(errno));
    return;
  }
}

void PtpSource::take_answers() {
  while (const auto message = socket_.receive()) {
    const std::optional<Answer> answer = ptp::parse_answer(*message, options_.domain);
    if (answer && asked_us_ && answer->sequence == sequence_) take(*answer);
  }
}

void PtpSource::take(const Answer& answer) {
  const std::uint64_t asked_us = *asked_us_;
  if (const auto* port = std::get_if<PortData>(&answer.data)) {
    ports_[port->port] = {*port, asked_us};
  } else if (const auto* current = std::get_if<CurrentData>(&answer.data)) {
    current_ = {*current, asked_us};
  } else if (const auto* status = std::get_if<TimeStatus>(&answer.data)) {
    status_ = {*status, asked_us};
  }
}

template <typename Data>
bool PtpSource::fresh(const std::optional<Known<Data>>& known, std::uint64_t now_us) const {
  return known && now_us - known->asked_us <= options_.stale_us;
}

Bound PtpSource::judge(std::uint64_t now_us) const {
  if (!fresh(current_, now_us) || !fresh(status_, now_us))
    return Bound::none(unreachable_.empty() ? fmt::format("ptp4l at {} does not answer", options_.socket)
                                            : unreachable_);
  std::string states;
  bool is_master = false;
  for (const auto& [number, port] : ports_) {
    if (!fresh(port, now_us)) continue;
    if (port->data.state == ptp::kSlave) return judge_slave();
    is_master = is_master || port->data.state == ptp::kMaster;
    states +=
        fmt::format("{}port {} is {}", states.empty() ? "" : ", ", number, ptp::port_state_name(port->data.state));
  }
  const bool is_grandmaster =
      is_master && current_->data.steps_removed == 0 && status_->data.grandmaster == grandmaster_;
  if (is_grandmaster) return Bound::within(2 * options_.max_error_us);
  return Bound::none(
      fmt::format("not synchronized to {}: {}", ptp::print(grandmaster_), states.empty() ? "no port" : states));
}

/// Judges a clock that follows the grandmaster. The offset is as ptp4l last measured it, and may be wrong by the path's
/// delay, if the path is that much longer in one direction.
Bound PtpSource::judge_slave() const {
  const TimeStatus& status = status_->data;
  if (!status.grandmaster_present || status.grandmaster != grandmaster_)
    return Bound::none(
        fmt::format("the grandmaster is {}, not {}", ptp::print(status.grandmaster), ptp::print(grandmaster_)));
  const Discipline discipline = options_.discipline();
  if (!discipline.synchronized || discipline.max_error_us > options_.steered_us)
    return Bound::none("nobody has steered the system clock lately: is phc2sys running?");
  const double offset_ns =
      std::max(std::abs(current_->data.offset_ns), std::abs(static_cast<double>(status.offset_ns)));
  const double error_us = (offset_ns + std::abs(current_->data.path_delay_ns)) / 1000;
  if (error_us > static_cast<double>(options_.max_error_us))
    return Bound::none(fmt::format("the clock is off by up to {:.1f} us, more than the {} us that are agreed", error_us,
                                   options_.max_error_us));
  return Bound::within(2 * options_.max_error_us);
}

}  // namespace granary::cluster_config::clock
