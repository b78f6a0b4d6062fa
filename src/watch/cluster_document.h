#pragma once
// The whole cluster as one JSON document, /status.json: what the node that was asked knows of the membership, and what
// each node tells of itself. docs/monitoring.md describes it.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/status.h>

#include "src/watch/node_document.h"

namespace granary::watch {

/// A node of the cluster file, and what came when it was asked.
struct NodeAnswer {
  NodeNumber node = 0;
  std::string host = {};
  std::string http = {};   ///< its address, for people; empty: it has none
  Json document = {};      ///< null: it did not answer
  std::string error = {};  ///< why it did not
};

/// `asked`: the node that makes the document. `answers`: of all nodes of the cluster file, its own included, in their
/// order.
Json cluster_document(const NodeReport& asked, std::vector<NodeAnswer> answers);

/// Whether this is such a document, of a format that this program reads: kUnavailable if not, as whoever answered is no
/// node, or one of another release.
Status check_cluster_document(const Json& document);

/// Reads what a node answered. A document with an error if it is none.
NodeAnswer answer_of(NodeAnswer node, const std::string& body);

}  // namespace granary::watch
