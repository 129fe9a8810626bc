#!/usr/bin/env python3
"""Times NumPy on the workloads of refrain-bench that it can do; prints one JSON object a line.

NumPy's calls are synchronous: issuing a step, issuing and waiting for it, and steps back to back are one figure.
"""

import argparse
import json
import statistics
import sys
import time

MIN_REPETITIONS = 3
BATCH_SECONDS = 0.02


def median_us(step, budget, repeat):
    """Median over batches of the time of one step, and the number of batches."""
    step()
    start = time.perf_counter()
    step()
    batch = max(1, int(BATCH_SECONDS / max(time.perf_counter() - start, 1e-9)))
    samples = []
    begin = time.perf_counter()
    while len(samples) < (repeat or MIN_REPETITIONS) or (not repeat and time.perf_counter() - begin < budget):
        start = time.perf_counter()
        for _ in range(batch):
            step()
        samples.append((time.perf_counter() - start) / batch * 1e6)
    return statistics.median(samples), len(samples)


def axpy(numpy):
    """100 times z = z * 0.999; z = z + y on 1 000 float32."""
    start = numpy.arange(1000, dtype=numpy.float32) * numpy.float32(0.125) - 60
    y = start * numpy.float32(0.25) + 1
    factor = numpy.float32(0.999)

    def step():
        z = start
        for _ in range(100):
            z = z * factor
            z = z + y
        return z

    return step


def seed3(numpy):
    """The arithmetic of the third program with NumPy's own Philox numbers."""
    generator = numpy.random.Generator(numpy.random.Philox(0))

    def step():
        a = generator.standard_normal((50, 50), dtype=numpy.float32) * 3
        b = generator.standard_normal((50, 50), dtype=numpy.float32) + 5
        return a + b

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each workload")
    parser.add_argument("--repeat", type=int, default=0, help="repetitions in place of the budget")
    options = parser.parse_args()
    try:
        import numpy
    except ImportError:
        print(json.dumps({"missing": f"NumPy is not installed for {sys.executable}"}))
        return
    for workload, commands, make in (("seed3", 5, seed3), ("eager_axpy_1k", 200, axpy)):
        step_us, repetitions = median_us(make(numpy), options.budget, options.repeat)
        row = {"workload": workload, "commands": commands, "host_us": step_us, "total_us": step_us,
               "back_to_back_us": step_us, "repetitions": repetitions}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
