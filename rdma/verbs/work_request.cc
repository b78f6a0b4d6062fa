#include "rdma/verbs/work_request.h"

namespace granary::rdma::verbs {

void translate(const Operation& operation, std::uint64_t remote, std::uint32_t key, std::uint32_t inline_bytes,
               ibv_send_wr& request) {
  request.send_flags = operation.fenced ? IBV_SEND_FENCE : 0;
  if (operation.kind == OperationKind::kRead || operation.kind == OperationKind::kWrite) {
    request.wr.rdma.remote_addr = remote;
    request.wr.rdma.rkey = key;
  } else {
    request.wr.atomic = {
        .remote_addr = remote, .compare_add = operation.operand, .swap = operation.desired, .rkey = key};
  }
  switch (operation.kind) {
    case OperationKind::kRead: request.opcode = IBV_WR_RDMA_READ; break;
    case OperationKind::kWrite:
      request.opcode = IBV_WR_RDMA_WRITE;
      if (operation.bytes <= inline_bytes) request.send_flags |= IBV_SEND_INLINE;
      break;
    case OperationKind::kCompareSwap: request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP; break;
    case OperationKind::kFetchAdd: request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD; break;
  }
}

}  // namespace granary::rdma::verbs
