#pragma once
// The board at a ZooKeeper ensemble:
//
//   ROOT/configuration  the document; changed by compare-and-set on the znode's version
//   ROOT/members/N      node N's mark: an ephemeral znode, whose text says who it is; the servers remove it when the
//                       session has been silent for its time-out
//
// Only the intermediate znodes of ROOT are open to all if there is a digest.
//
// How long a mark is safe. The servers count a session's silence from the last sign that they have got. Each marks() is one,
// sent after the call began; so for the granted time-out from then on the mark is there. A third of it is kept as a margin: a
// server that dies may have answered without telling the ensemble's leader, which happens every half tick (a time-out has two at
// least), and what was asked shortly before the end must also end. So with a silent ensemble a member stops committing at two
// thirds of the time-out and goes on when it is heard again, if its session still lives.

#include <memory>

#include <granary/status.h>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/zookeeper/options.h"

namespace granary::membership {

/// Connects; kUnavailable if no server answers within `connect_ms`. A node that died keeps its mark for the session's
/// time-out: its next life's mark() waits for that.
Result<std::unique_ptr<Board>> open_zookeeper_board(const ZookeeperOptions& options);

}  // namespace granary::membership
