#pragma once
// Opens the board at a ZooKeeper ensemble:
//
//   ROOT/configuration  the document; changed by compare-and-set on the znode's version
//   ROOT/members/N      node N's mark: an ephemeral znode, whose text says who it is; the servers remove it when the
//                       session has been silent for its time-out
//
// If there is a digest, only the intermediate znodes of ROOT are open to all.
//
// A member may commit as long as this. It writes its own mark anew, about six times in a session's time-out. Such a
// write is answered only when a quorum of the servers has committed it while the session lived. So the mark was there
// at some moment after the write was sent. The fence stays open for half a time-out from when the write was sent. Every
// member that misses a mark waits for half a time-out before it says that the other member is dead. So the fence has
// shut by then, whatever the servers thought of the session meanwhile.
//
// Reads prove nothing. A server that is cut off from its leader answers them from its memory, for up to ZooKeeper's
// `syncLimit`, while the leader lets the session expire; nor is ZooKeeper's `sync` committed by a quorum
// (ZOOKEEPER-1675). Members do not watch the data of each other's marks, so these writes wake no member.
//
// An ensemble whose data were wiped refuses the old sessions for ever, as they have seen later changes than it has, and
// never says that they have expired. So if a member's session reaches no server, the member looks with a new session,
// once in a time-out, whether its mark is still there.

#include <memory>

#include <granary/status.h>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/zookeeper/options.h"

namespace granary::membership {

/// Connects. Returns kUnavailable if no server answers within `connect_ms`. A node that died keeps its mark for the
/// session's time-out, and the mark() of its next life waits for that.
Result<std::unique_ptr<Board>> open_zookeeper_board(const ZookeeperOptions& options);

}  // namespace granary::membership
