// What strangers send a node by HTTP, and what nodes that are asked may answer. The first byte says which: 0, the bytes
// that a client sends to a server; 1, what a node answers to /node.json, of which the cluster's document, its text and
// its table are made. A server answers with HTTP or ends the connection, and answers the next client; a document is
// never refused by what makes text of it.

#include <memory>
#include <string>

#include "cluster_config/http_address.h"
#include "src/base/check.h"
#include "src/watch/cluster_document.h"
#include "src/watch/cluster_table.h"
#include "src/watch/http/server.h"
#include "src/watch/http/token.h"
#include "tests/fuzz/target.h"
#include "tests/watch/raw_client.h"
#include "tests/watch/reports.h"

namespace granary {
namespace {

http::Server& server() {
  static const std::unique_ptr<http::Server> started = [] {
    auto opened = http::Server::open(
        {.ip = "127.0.0.1"},
        [](const http::Request& request, const http::Respond& respond) { respond({.body = request.path}); },
        {.connections = 4, .idle_ms = 100});
    base::always_check(opened.ok(), "a loopback address can be listened at");
    (*opened)->start();
    return std::move(opened).value();
  }();
  return *started;
}

/// True if the first request is answered by the handler.
bool sent_to_server(std::string_view bytes) {
  const tests::RawClient client(server().port());
  client.send(bytes);
  client.end_sending();
  const std::string answer = client.read_to_end();
  base::always_check(answer.empty() || answer.starts_with("HTTP/1.1 "), "the server speaks HTTP");
  return answer.starts_with("HTTP/1.1 200 ");
}

bool answered_by_node(std::string_view bytes) {
  const watch::NodeReport asked = watch::tests::serving(1);
  watch::NodeAnswer answer = watch::answer_of({.node = 2, .http = "127.0.0.1:9462"}, std::string(bytes));
  const bool understood = !answer.document.is_null();
  const watch::Json document = watch::cluster_document(asked, {std::move(answer)});
  const std::string text = watch::text_of(document);
  const watch::Json again = watch::Json::parse(text, nullptr, /*allow_exceptions=*/false);
  base::always_check(again.is_object(), "the document is JSON");
  const std::string table = watch::cluster_table(again, /*color=*/false);
  base::always_check(table.find('\x1b') == std::string::npos, "nothing moves the reader's cursor");
  return understood;
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  const bool answer = (input.front() & 1) != 0;
  input.remove_prefix(1);
  static_cast<void>(http::shows_token(input, "token"));
  static_cast<void>(http::names_address(input));
  if (const auto address = cluster_config::http_address_of(input); address)
    base::always_check(cluster_config::http_address_of(address->text()) == address,
                       "an address reads as it is written");
  return answer ? answered_by_node(input) : sent_to_server(input);
}

}  // namespace granary
