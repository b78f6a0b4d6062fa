#pragma once
// Checks the headers of a request: the token of the client, and the host's name.

#include <string_view>

namespace granary::http {

/// Whether the value of an Authorization header shows the token. Takes the same time for each wrong one.
bool shows_token(std::string_view authorization, std::string_view token);

/// Whether the value of a Host header is "localhost" or an IP address, with or without a port. Anybody may have made
/// any other name point to this host.
bool names_address(std::string_view host);

}  // namespace granary::http
