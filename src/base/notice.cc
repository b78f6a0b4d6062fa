#include "src/base/notice.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace granary {
namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"info", "warning", "error"};
constexpr std::array<std::string_view, 9> kTopics = {"memory_pages", "open_transaction", "checkpoint",
                                                     "closing",      "recovery",         "membership",
                                                     "peers",        "chains",           "log_rings"};

}  // namespace

std::string_view name(NoticeSeverity severity) { return kSeverities[static_cast<std::size_t>(severity)]; }
std::string_view name(NoticeTopic topic) { return kTopics[static_cast<std::size_t>(topic)]; }

void print_notice(const Notice& notice) noexcept {
  const char* const warning = notice.severity == NoticeSeverity::kWarning ? "warning: " : "";
  std::fprintf(stderr, "granary: %s%s\n", warning, notice.text.c_str());
}

void base::tell(const NoticeSink& sink, const Notice& notice) noexcept {
  if (!sink) return print_notice(notice);
  try {
    sink(notice);
  } catch (...) {
    print_notice(notice);
  }
}

}  // namespace granary
