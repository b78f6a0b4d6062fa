#pragma once
// Fetching on an event loop that goes on meanwhile; fetch.h is for callers without one.

#include <boost/asio/io_context.hpp>

#include "src/watch/http/fetch.h"

namespace granary::http {

void begin_fetch(boost::asio::io_context& context, std::vector<Target> targets, std::uint32_t timeout_ms,
                 FetchDone done);

}  // namespace granary::http
