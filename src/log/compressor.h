#pragma once
// Compresses log entries with any of the codecs. The compressor keeps its working memory between calls, because zstd's
// is larger than most of what it packs.

#include <cstddef>
#include <memory>
#include <string_view>

#include "src/log/format.h"

struct ZSTD_CCtx_s;

namespace granary::log {

/// Packs bytes with one codec. One thread at a time uses it.
class Compressor {
 public:
  /// Throws std::bad_alloc if there is no memory for the codec's state, as pack() does.
  explicit Compressor(Codec codec);

  Codec codec() const { return codec_; }
  /// Returns how many bytes of room always suffice for packing `raw` bytes.
  std::size_t bound(std::size_t raw) const;
  /// Packs `raw` into `to`, which has bound() bytes or more. Returns how many bytes that took.
  std::size_t pack(std::string_view raw, char* to, std::size_t room);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  const Codec codec_;
  const std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;
};

}  // namespace granary::log
