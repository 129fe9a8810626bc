#include "array/axes.hpp"

#include <refrain/error.hpp>

#include <string>

namespace refrain {

int axis_of(const Shape& shape, int axis, const char* call, SourceLocation where, int more) {
  const int ndim = shape.ndim() + more;
  if (axis >= -ndim && axis < ndim) return axis < 0 ? axis + ndim : axis;
  const std::string what = "axis " + std::to_string(axis) + " of shape " + shape.str();
  if (ndim == 0) throw Error(Errc::invalid_value, call, what, "is not there; use the array whole", where);
  throw Error(Errc::invalid_value, call, what,
              "is not there; give one from " + std::to_string(-ndim) + " to " + std::to_string(ndim - 1), where);
}

void require_room(const Shape& shape, const char* call, SourceLocation where) {
  if (shape.ndim() < Shape::max_ndim) return;
  throw Error(Errc::invalid_value, call, "shape " + shape.str(),
              "has the most axes there can be, " + std::to_string(Shape::max_ndim) + "; flatten some first", where);
}

}  // namespace refrain
