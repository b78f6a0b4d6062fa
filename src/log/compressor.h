#pragma once
// Compression of log entries, behind one call. The compressor's working memory is kept between calls: zstd's is larger
// than most of what is packed.

#include <cstddef>
#include <memory>
#include <string_view>

#include "src/log/format.h"

struct ZSTD_CCtx_s;

namespace granary::log {

/// Used by one thread at a time.
class Compressor {
 public:
  explicit Compressor(Codec codec);

  Codec codec() const { return codec_; }
  /// Room that always suffices for `raw` bytes.
  std::size_t bound(std::size_t raw) const;
  /// Packs into `to`, which has bound() bytes or more. Returns how many it took.
  std::size_t pack(std::string_view raw, char* to, std::size_t room);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  const Codec codec_;
  const std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;
};

}  // namespace granary::log
