#include "support_foreign_work.hpp"

#include <refrain/enqueue.hpp>

namespace refrain::test {

#if REFRAIN_HAS_CUDA
// Defined in support_foreign_work.cu.
void cuda_blend(const Stream& stream, Way way, const Array& to, const Array& from);
void cuda_triple(const Stream& stream, Way way, const Array& to, const Array& from);
void cuda_undeclared_blend(const Stream& stream, Way way, float* to, const float* from, std::int64_t count);
#else
namespace {
// There are no such streams.
void cuda_blend(const Stream&, Way, const Array&, const Array&) {}
void cuda_triple(const Stream&, Way, const Array&, const Array&) {}
void cuda_undeclared_blend(const Stream&, Way, float*, const float*, std::int64_t) {}
}  // namespace
#endif

namespace {

bool is_cuda(const Stream& stream) { return stream.device().kind == DeviceKind::cuda; }

void blend(float* to, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] / 2 + from[i];
}

}  // namespace

void foreign_blend(const Stream& stream, Way way, const Array& to, const Array& from) {
  if (is_cuda(stream)) return cuda_blend(stream, way, to, from);
  stream.enqueue("blend", readwrite(to), read(from),
                 on_host([count = to.size()](float* y, const float* x) { blend(y, x, count); }));
}

void foreign_triple(const Stream& stream, Way way, const Array& to, const Array& from) {
  if (is_cuda(stream)) return cuda_triple(stream, way, to, from);
  stream.enqueue("triple", write(to), read(from), on_host([count = to.size()](float* y, const float* x) {
                   for (std::int64_t i = 0; i < count; ++i) y[i] = 3 * x[i];
                 }));
}

void undeclared_blend(const Stream& stream, Way way, float* to, const float* from, std::int64_t count) {
  if (is_cuda(stream)) return cuda_undeclared_blend(stream, way, to, from, count);
  stream.enqueue("undeclared_blend", on_host([=] { blend(to, from, count); }));
}

}  // namespace refrain::test
