#include "src/node/cluster_protocol.h"

#include <array>
#include <string_view>

#include "kvstore/hash/key.h"
#include "rdma/mailbox/ring.h"
#include "rdma/mailbox/rpc.h"
#include "src/cluster/messages/frame.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/record_access/regions.h"
#include "src/epoch/control_block.h"
#include "src/record/shared_record.h"
#include "src/record/tid.h"

namespace granary::db {
namespace {

using epoch::ControlBlock;
using kvstore::hash::Bucket;
using record::SharedRecord;

constexpr cluster::messages::MailboxLayout kMailboxes;

constexpr std::array kFigures = {
    kClusterProtocol,
    // records: src/record/
    std::uint64_t{sizeof(SharedRecord)},
    std::uint64_t{offsetof(SharedRecord, head)},
    std::uint64_t{offsetof(SharedRecord, check_word)},
    std::uint64_t{record::kSharedGrain},
    std::uint64_t{~record::tid_of(~record::TidWord{0})},
    std::uint64_t{record::kSequenceBits},
    std::uint64_t{record::kIncarnationShift},
    std::uint64_t{record::kHolderSequenceBits},
    std::uint64_t{record::kHolderWorkerBits},
    std::uint64_t{record::kHolderGenerationBits},
    std::uint64_t{record::kHolderNodeBits},
    // hash tables: kvstore/hash/bucket.h
    std::uint64_t{sizeof(Bucket)},
    std::uint64_t{kvstore::hash::kLines},
    std::uint64_t{kvstore::hash::kSlots},
    // control blocks
    std::uint64_t{sizeof(ControlBlock)},
    std::uint64_t{offsetof(ControlBlock, by_node)},
    std::uint64_t{sizeof(ControlBlock::ByLeader)},
    std::uint64_t{sizeof(ControlBlock::ByNode)},
    // mailboxes and messages
    std::uint64_t{cluster::kDataRegion},
    std::uint64_t{cluster::kControlRegion},
    std::uint64_t{cluster::kMailRegion},
    std::uint64_t{rdma::mailbox::kConsumedOffset},
    std::uint64_t{rdma::mailbox::kSleepOffset},
    std::uint64_t{rdma::mailbox::kDataOffset},
    std::uint64_t{rdma::mailbox::Rpc::kHeaderBytes},
    kMailboxes.ring_bytes,
    kMailboxes.most_bytes,
    std::uint64_t{cluster::messages::kFrameBytes},
    std::uint64_t{cluster::messages::kVersion},
};

}  // namespace

std::uint64_t cluster_protocol() {
  return kvstore::hash::fingerprint(std::string_view(reinterpret_cast<const char*>(kFigures.data()), sizeof kFigures));
}

}  // namespace granary::db
