#include <refrain/bench.hpp>

#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"

namespace refrain::bench {

void empty(const Stream& stream, SourceLocation where) {
  runtime::StreamCore& core = stream.core();
  runtime::submit(core, {core.device, runtime::EmptyCommand{}, {}, "empty", where});
}

}  // namespace refrain::bench
