#pragma once
// Tells the library's notices. No other place prints to stderr, except for checks that end the process.

#include <granary/notice.h>

namespace granary::base {

/// Gives the notice to the sink, or prints it if there is none or the sink throws.
void tell(const NoticeSink& sink, const Notice& notice) noexcept;

}  // namespace granary::base
