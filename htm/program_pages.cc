#include "htm/program_pages.h"

#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace granary::htm {
namespace {

/// Reads a byte, which another thread may be writing, and forgets it.
void touch(std::uintptr_t address) {
  char byte;
  asm volatile("movb (%1), %0" : "=q"(byte) : "r"(address));
}

/// Touches the readable parts of one loaded object, the program or a library.
int touch_object(dl_phdr_info* object, std::size_t /*size*/, void* /*nothing*/) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
    const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    for (std::uintptr_t at = first; at < first + segment.p_memsz; at = (at | (page - 1)) + 1) touch(at);
  }
  return 0;
}

}  // namespace

void touch_program() { (void)::dl_iterate_phdr(touch_object, nullptr); }

void ProgramPages::region_was_in_vain() {
  if (++in_vain_ < kFew) return;
  const Clock::time_point now = Clock::now();
  if (now - touched_ < kInterval) return;
  touch_program();
  touched_ = now;
  in_vain_ = 0;
}

}  // namespace granary::htm
