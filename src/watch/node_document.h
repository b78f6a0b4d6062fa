#pragma once
// A node's report as a JSON document, /node.json. docs/monitoring.md describes it.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/watch/node_report.h"
#include "src/watch/rates.h"

namespace granary::watch {

/// Keys stay in the order in which they were added, which is that of the documentation.
using Json = nlohmann::ordered_json;

/// A message to the people who run the cluster.
struct Message {
  std::string severity = {};  ///< "info", "warning", "error"
  NodeNumber node = 0;        ///< the node that it is about; 0: the cluster
  std::string text = {};
};
Json json_of(const Message& message);

/// Returns the messages on what is wrong with this node itself.
std::vector<Message> messages_of(const NodeReport& report, const Rates& rates);

Json node_document(const NodeReport& report, const Rates& rates);

/// Returns the document as text. Bytes in it that are no UTF-8 are replaced.
std::string text_of(const Json& document);

}  // namespace granary::watch
