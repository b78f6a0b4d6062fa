#pragma once
// The whole cluster as one JSON document, /status.json. It has the membership as the asked node knows it, and each
// node's own report. docs/monitoring.md describes it.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/status.h>

#include "src/watch/node_document.h"

namespace granary::watch {

/// A node of the cluster file, and its answer.
struct NodeAnswer {
  NodeNumber node = 0;
  std::string host = {};
  std::string http = {};   ///< its address, for people; empty if it has none
  Json document = {};      ///< null if it did not answer
  std::string error = {};  ///< why it did not answer
};

/// Returns the document. `asked` is the report of the node that makes it. `answers` are those of all nodes of the
/// cluster file, this one included, in the file's order.
Json cluster_document(const NodeReport& asked, std::vector<NodeAnswer> answers);

/// Returns kUnavailable unless this is such a document of a format that this program reads: the server is no node, or
/// of another release.
Status check_cluster_document(const Json& document);

/// Reads a node's answer. The result has an error if the body is no node's document.
NodeAnswer answer_of(NodeAnswer node, const std::string& body);

}  // namespace granary::watch
