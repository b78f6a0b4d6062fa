#include "src/log/compressor.h"

#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "src/base/check.h"

namespace granary::log {
namespace {

constexpr int kFastest = 1;

}  // namespace

Compressor::Compressor(Codec codec) : codec_(codec), zstd_(codec == Codec::kZstd ? ZSTD_createCCtx() : nullptr) {
  if (codec == Codec::kZstd && zstd_ == nullptr) throw std::bad_alloc();
}

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

std::size_t Compressor::bound(std::size_t raw) const {
  return codec_ == Codec::kLz4 ? static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(raw)))
                               : ZSTD_compressBound(raw);
}

std::size_t Compressor::pack(std::string_view raw, char* to, std::size_t room) {
  std::size_t bytes = 0;
  if (codec_ == Codec::kLz4) {
    const int done = LZ4_compress_default(raw.data(), to, static_cast<int>(raw.size()), static_cast<int>(room));
    bytes = done > 0 ? static_cast<std::size_t>(done) : 0;
  } else {
    const std::size_t done = ZSTD_compressCCtx(zstd_.get(), to, room, raw.data(), raw.size(), kFastest);
    if (ZSTD_getErrorCode(done) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    bytes = ZSTD_isError(done) != 0 ? 0 : done;
  }
  base::always_check(bytes != 0, "a buffer of the compressor's own bound is large enough");
  return bytes;
}

}  // namespace granary::log
