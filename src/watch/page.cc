#include "src/watch/page.h"

#include <array>
#include <cstddef>

namespace granary::watch {

/// The files, in sources that cmake/WriteAssets.cmake writes.
namespace assets {
extern const char kPageHtml[], kPageCss[], kPageJs[];
extern const std::size_t kPageHtmlSize, kPageCssSize, kPageJsSize;
}  // namespace assets

std::span<const PageFile> page_files() {
  static const std::array<PageFile, 3> kFiles = {
      PageFile{"/", "text/html; charset=utf-8", {assets::kPageHtml, assets::kPageHtmlSize}},
      PageFile{"/page.css", "text/css; charset=utf-8", {assets::kPageCss, assets::kPageCssSize}},
      PageFile{"/page.js", "text/javascript; charset=utf-8", {assets::kPageJs, assets::kPageJsSize}}};
  return kFiles;
}

}  // namespace granary::watch
