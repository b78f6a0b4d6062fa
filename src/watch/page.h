#pragma once
// The files of the page with charts (src/watch/page/), compiled into the program.

#include <span>
#include <string_view>

namespace granary::watch {

struct PageFile {
  std::string_view path;  ///< the path of the request: "/page.js"
  std::string_view content_type;
  std::string_view text;
};

std::span<const PageFile> page_files();

}  // namespace granary::watch
