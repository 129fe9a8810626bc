#include <refrain/bench.hpp>

#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"

namespace refrain::bench {

void empty(const Stream& stream, SourceLocation where) {
  runtime::submit(stream.core(), {runtime::EmptyCommand{}, {}, "empty", where});
}

}  // namespace refrain::bench
