#!/usr/bin/env python3
"""Times CuPy: one kernel an op, on one stream, with its pool of memory."""

import measuring


def makers(device):
    import cupy

    import array_programs

    if device != "cuda":
        raise RuntimeError("CuPy runs on CUDA alone")
    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("CuPy finds no CUDA device")
    from cupyx.scipy.special import erf

    generator = cupy.random.Generator(cupy.random.Philox4x3210(0))
    programs = array_programs.Programs(
        cupy,
        normal=lambda shape: generator.standard_normal(shape, dtype=cupy.float32),
        uniform=lambda shape: generator.random(shape, dtype=cupy.float32),
        erf=erf,
    )
    stream = cupy.cuda.get_current_stream()

    def program(make, is_random):
        step, reset = make()
        step()

        def first_results():
            if reset:
                reset()
            return [cupy.asnumpy(result) for result in step()]

        return measuring.Program(
            step, stream.synchronize, first_results, "fp32 op by op, products fp32 (no tf32)", is_random
        )

    return {
        workload: [("cupy", lambda make=make, is_random=is_random: program(make, is_random))]
        for workload, (make, is_random) in programs.all().items()
    }


if __name__ == "__main__":
    measuring.run("CuPy", makers)
