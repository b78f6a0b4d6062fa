#include "src/watch/service.h"

#include <algorithm>
#include <utility>

#include "src/base/tsc_clock.h"
#include "src/watch/cluster_document.h"
#include "src/watch/node_document.h"
#include "src/watch/node_metrics.h"
#include "src/watch/page.h"
#include "src/watch/rates.h"

namespace granary::watch {
namespace {

constexpr const char* kJsonType = "application/json; charset=utf-8";

/// The server's thread calls all members except start() and the destructor.
class NodeService final : public Service {
 public:
  explicit NodeService(ServiceOptions options) : options_(std::move(options)) {}
  ~NodeService() override {
    if (server_ != nullptr) server_->stop();
    waiting_.clear();
  }

  Status listen() {
    auto server = http::Server::open(options_.listen, [this](const http::Request& request, http::Respond respond) {
      answer(request, std::move(respond));
    });
    if (!server.ok()) return server.status();
    server_ = std::move(server).value();
    constexpr std::uint32_t kSecond_ms = 1000;
    server_->every(kSecond_ms, [this] { meter_.take(report(), base::monotonic_us()); });
    server_->start();
    return {};
  }

  std::uint16_t port() const override { return server_->port(); }

 private:
  void answer(const http::Request& request, http::Respond respond) {
    const auto files = page_files();
    const auto file = std::ranges::find(files, request.path, &PageFile::path);
    if (file != files.end())
      return respond({.content_type = std::string(file->content_type), .body = std::string(file->text)});
    if (request.path == "/healthz") return respond(verdict(request, why_stuck(report())));
    if (request.path == "/readyz") return respond(verdict(request, why_not_ready(report())));
    const bool known = request.path == "/metrics" || request.path == "/node.json" || request.path == "/status.json";
    if (!known)
      return respond({.status = 404, .body = "there is /, /metrics, /status.json, /node.json, /healthz, /readyz\n"});
    if (!request.authorized)
      return respond({.status = 401, .body = "show the token: the header 'Authorization: Bearer TOKEN'\n"});
    if (request.path == "/status.json") return answer_for_all(std::move(respond));
    if (request.path == "/metrics") return respond({.content_type = kMetricsType, .body = metrics()});
    respond({.content_type = kJsonType, .body = text_of(node_document(report(), meter_.rates()))});
  }

  /// Returns the node's report, which is at most a moment old. So many requests cost no more than one in that time.
  const NodeReport& report() {
    constexpr std::uint64_t kMoment_us = 100'000;
    const std::uint64_t now_us = base::monotonic_us();
    if (looked_us_ == 0 || now_us - looked_us_ >= kMoment_us) {
      report_ = options_.look();
      looked_us_ = now_us;
      metrics_.clear();
    }
    return report_;
  }

  const std::string& metrics() {
    const NodeReport& now = report();
    if (metrics_.empty()) metrics_ = metrics_of(now);
    return metrics_;
  }

  /// Returns the answer to a load balancer. It has no token, so it learns whether the node is fit, and not why.
  static http::Response verdict(const http::Request& request, const std::string& trouble) {
    if (trouble.empty()) return {.body = "ok\n"};
    return {.status = 503, .body = request.authorized ? trouble + "\n" : "no\n"};
  }

  /// Asks all other nodes. Requests that come meanwhile, or shortly afterwards, get the same document.
  void answer_for_all(http::Respond respond) {
    constexpr std::uint64_t kFresh_us = 250'000;
    if (!document_.empty() && base::monotonic_us() - made_us_ < kFresh_us)
      return respond({.content_type = kJsonType, .body = document_});
    waiting_.push_back(std::move(respond));
    if (waiting_.size() > 1) return;
    std::vector<http::Target> targets;
    for (const Peer& peer : options_.peers) {
      if (!peer.ip.empty() && peer.node != options_.node)
        targets.push_back({.ip = peer.ip, .port = peer.port, .path = "/node.json", .token = options_.listen.token});
    }
    server_->fetch(std::move(targets), kPeerTimeout_ms,
                   [this](std::vector<http::Fetched> fetched) { give_document(std::move(fetched)); });
  }

  void give_document(std::vector<http::Fetched> fetched) {
    const std::vector<http::Respond> waiting = std::exchange(waiting_, {});  // emptied even if memory is short below
    const NodeReport& own = report();
    std::vector<NodeAnswer> answers;
    auto next = fetched.begin();
    for (const Peer& peer : options_.peers) {
      NodeAnswer answer{.node = peer.node, .host = peer.host, .http = peer.http};
      if (peer.node == options_.node) {
        answer.document = node_document(own, meter_.rates());
      } else if (peer.ip.empty()) {
        answer.error = peer.why_not;
      } else {
        answer = answer_from(std::move(answer), *next++);
      }
      answers.push_back(std::move(answer));
    }
    document_ = text_of(cluster_document(own, std::move(answers)));
    made_us_ = base::monotonic_us();
    for (const http::Respond& respond : waiting) respond({.content_type = kJsonType, .body = document_});
  }

  static NodeAnswer answer_from(NodeAnswer answer, const http::Fetched& fetched) {
    if (fetched.ok()) return answer_of(std::move(answer), fetched.body);
    answer.error = fetched.error;
    if (fetched.status == 401) answer.error = "it has another token: http_token_file has to be alike on all nodes";
    if (answer.error.empty()) answer.error = "it answers with HTTP status " + std::to_string(fetched.status);
    return answer;
  }

  const ServiceOptions options_;
  NodeReport report_;
  std::uint64_t looked_us_ = 0;  ///< when report_ was made; 0: never
  std::string metrics_;          ///< made of report_; empty: not made yet
  RateMeter meter_;
  std::vector<http::Respond> waiting_;  ///< requests that wait for the document
  std::string document_;
  std::uint64_t made_us_ = 0;
  std::unique_ptr<http::Server> server_;
};

}  // namespace

Result<std::unique_ptr<Service>> Service::start(ServiceOptions options) {
  auto service = std::make_unique<NodeService>(std::move(options));
  if (const Status listening = service->listen(); !listening.ok()) return listening;
  return std::unique_ptr<Service>(std::move(service));
}

}  // namespace granary::watch
