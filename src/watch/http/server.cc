#include "src/watch/http/server.h"

#include <sodium.h>

#include <utility>

#include "src/watch/http/loop.h"

namespace granary::http {

Result<std::unique_ptr<Server>> Server::open(const Listen& listen, Handler handler, const ServerLimits& limits) {
  if (::sodium_init() < 0) return Status(StatusCode::kUnavailable, "libsodium cannot be used");
  auto loop = std::make_unique<Loop>(listen, std::move(handler), limits);
  if (const Status status = loop->listen(listen); !status.ok()) return status;
  return std::unique_ptr<Server>(std::move(loop));
}

}  // namespace granary::http
