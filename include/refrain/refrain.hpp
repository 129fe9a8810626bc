#pragma once

/// Everything that does not need CUDA's headers.

#include <refrain/access.hpp>
#include <refrain/array.hpp>
#include <refrain/bench.hpp>
#include <refrain/capture.hpp>
#include <refrain/copy.hpp>
#include <refrain/data.hpp>
#include <refrain/device.hpp>
#include <refrain/diagnostics.hpp>
#include <refrain/distributions.hpp>
#include <refrain/dlpack.hpp>
#include <refrain/dtype.hpp>
#include <refrain/enqueue.hpp>
#include <refrain/error.hpp>
#include <refrain/event.hpp>
#include <refrain/fields.hpp>
#include <refrain/generator.hpp>
#include <refrain/graph.hpp>
#include <refrain/graphed.hpp>
#include <refrain/graphed_call.hpp>
#include <refrain/launch.hpp>
#include <refrain/linalg.hpp>
#include <refrain/memory.hpp>
#include <refrain/movement.hpp>
#include <refrain/npy.hpp>
#include <refrain/ops.hpp>
#include <refrain/param.hpp>
#include <refrain/random.hpp>
#include <refrain/reduce.hpp>
#include <refrain/scalar.hpp>
#include <refrain/shape.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>
