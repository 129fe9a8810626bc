#!/usr/bin/env python3
"""Times NumPy. Its calls are synchronous: issuing a step, and issuing and waiting for it, are one figure."""

import measuring


def makers(device):
    import numpy

    import array_programs
    from inputs import F

    if device != "host":
        raise RuntimeError("NumPy runs on the host alone")
    generator = numpy.random.Generator(numpy.random.Philox(0))

    def erf(x):
        """Within 1.5e-7: NumPy has none (Abramowitz and Stegun, 7.1.26)."""
        size = numpy.abs(x)
        t = 1 / (1 + F(0.3275911) * size)
        series = F(1.061405429)
        for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            series = series * t + F(coefficient)
        return numpy.copysign(1 - series * t * numpy.exp(-size * size), x)

    programs = array_programs.Programs(
        numpy,
        normal=lambda shape: generator.standard_normal(shape, dtype=numpy.float32),
        uniform=lambda shape: generator.random(shape, dtype=numpy.float32),
        erf=erf,
    )

    def program(make, is_random):
        step, reset = make()
        step()

        def first_results():
            if reset:
                reset()
            return [numpy.asarray(result) for result in step()]

        return measuring.Program(step, lambda: None, first_results, "fp32 op by op", is_random)

    return {
        workload: [("numpy", lambda make=make, is_random=is_random: program(make, is_random))]
        for workload, (make, is_random) in programs.all().items()
    }


if __name__ == "__main__":
    measuring.run("NumPy", makers)
