#include "host/blas.hpp"

#include "runtime/environment.hpp"
#include "runtime/library.hpp"

namespace refrain::host {

const Blas& Blas::get(SourceLocation where) {
  static const Blas all = [&] {
    const std::string named = runtime::environment("REFRAIN_OPENBLAS");
    const runtime::Library library({named.empty() ? "libopenblas.so.0" : named}, "matmul",
                                   "matrix products on the host need OpenBLAS: install it (Debian, Ubuntu: apt install "
                                   "libopenblas0), or name its file in REFRAIN_OPENBLAS",
                                   where);
    Blas found{};
    library.find(found.sgemm, "cblas_sgemm");
    library.find(found.dgemm, "cblas_dgemm");
    void (*set_threads)(int) = nullptr;
    library.find(set_threads, "openblas_set_num_threads");
    // Its own threads would compete with the host device's, and spin after each product.
    if (!library.was_loaded()) set_threads(1);
    return found;
  }();
  return all;
}

}  // namespace refrain::host
