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

/// Something that somebody should know, in words.
struct Message {
  std::string severity = {};  ///< "info", "warning", "error"
  NodeNumber node = 0;        ///< that it is about; 0: the cluster
  std::string text = {};
};
Json json_of(const Message& message);

/// What is wrong with this node itself.
std::vector<Message> messages_of(const NodeReport& report, const Rates& rates);

Json node_document(const NodeReport& report, const Rates& rates);

/// The document as text; what is no UTF-8 in it is replaced.
std::string text_of(const Json& document);

}  // namespace granary::watch
