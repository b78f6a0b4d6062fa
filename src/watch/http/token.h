#pragma once
// What a request's headers say of who asks.

#include <string_view>

namespace granary::http {

/// Whether the value of a header Authorization shows the token. Takes the same time for each wrong one.
bool shows_token(std::string_view authorization, std::string_view token);

/// Whether the value of a header Host is "localhost" or an IP address, with a port or without. Others are names that
/// anybody may have made point to this host.
bool names_address(std::string_view host);

}  // namespace granary::http
