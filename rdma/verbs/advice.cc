#include "rdma/verbs/advice.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace granary::rdma::verbs {
namespace {

/// Describes an error that only a mistake in this program makes, as posted chains are checked before.
std::string our_mistake(std::string_view what) {
  return fmt::format("{}; this is a mistake of Granary, please report it", what);
}

/// Describes a status of queue pair types and work requests that are not used here.
std::string not_used(int status) {
  return our_mistake(fmt::format("'{}', which belongs to operations that are not used here",
                                 ibv_wc_status_str(static_cast<ibv_wc_status>(status))));
}

}  // namespace

std::string completion_advice(int status) {
  switch (status) {
    case IBV_WC_SUCCESS: return "no error";
    case IBV_WC_LOC_LEN_ERR:
      return our_mistake("an operation is longer than its buffer or than the port's greatest message");
    case IBV_WC_LOC_QP_OP_ERR: return our_mistake("this device refused an operation as malformed");
    case IBV_WC_LOC_PROT_ERR: return our_mistake("an operation's local memory is not registered");
    case IBV_WC_WR_FLUSH_ERR:
      return "the connection broke before this operation began; an earlier error, or the peer's end, is the cause: "
             "connect again";
    case IBV_WC_LOC_ACCESS_ERR: return our_mistake("an operation's local memory may not be written");
    case IBV_WC_BAD_RESP_ERR:
      return "the peer's device sent an answer that makes no sense: check that both devices have current firmware, "
             "then connect again";
    case IBV_WC_REM_INV_REQ_ERR:
      return "the peer's device refused the operation as invalid: check that it has remote atomics, and its firmware";
    case IBV_WC_REM_ACCESS_ERR:
      return "the peer no longer offers this memory: it has ended or been restarted; connect again";
    case IBV_WC_REM_OP_ERR:
      return "the peer's device could not carry out the operation: see the kernel log of its host, then connect again";
    case IBV_WC_RETRY_EXC_ERR:
      return "the peer's device does not answer: its host is down or cut off, or the network lost too much; check the "
             "network, then connect again";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return our_mistake("the peer awaited no ring, although this device should try again without end");
    case IBV_WC_REM_ABORT_ERR:
      return "the peer's device gave the operation up: see the kernel log of its host, then connect again";
    case IBV_WC_FATAL_ERR:
      return "this host's device failed: see the kernel log; restart the node when the device works";
    case IBV_WC_RESP_TIMEOUT_ERR:
      return "the peer's device did not answer in time: check the network, then connect again";
    case IBV_WC_GENERAL_ERR:
      return "this host's device or its driver failed for a reason of its own: see the kernel log, then connect again";
    default: return not_used(status);
  }
}

Status registration_error(int error, std::uint64_t bytes, std::uint64_t registered, std::uint64_t lock_limit) {
  if (error == ENOMEM && lock_limit < registered + bytes) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format(
            "a region of {} bytes cannot be registered beside others of {} bytes: this process may lock {} bytes of "
            "memory; raise the limit (ulimit -l unlimited, or memlock in /etc/security/limits.d)",
            bytes, registered, lock_limit));
  }
  if (error == ENOMEM) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("a region of {} bytes cannot be registered: there is not enough memory to pin it; make it smaller",
                    bytes));
  }
  return Status(StatusCode::kUnavailable,
                fmt::format("a region of {} bytes cannot be registered: {}", bytes, std::strerror(error)));
}

}  // namespace granary::rdma::verbs
