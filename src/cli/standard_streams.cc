#include "src/cli/standard_streams.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "bench/harness/trial.h"

namespace granary::cli {

using bench::ExitCode;

bool prepare_streams() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the process's limit then fails with EFBIG, which is reported
  bool output = true;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    if (stream == STDOUT_FILENO) output = false;
    // open() takes the lowest free number, which is this stream's, as those below it are open by now.
    static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY));
  }
  return output;
}

ExitCode finish_output(ExitCode code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return code;
  const std::string cause = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  const ExitCode lost =
      bench::refuse(ExitCode::kEnvironment,
                    "standard output could not be written, so what was to be reported there is not whole" + cause);
  return code == ExitCode::kOk ? lost : code;
}

ExitCode refuse_closed_output() {
  return bench::refuse(ExitCode::kEnvironment,
                       "standard output is closed, so nothing could be reported; direct it to a file, or to /dev/null");
}

}  // namespace granary::cli
