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
LARGE = 1 << 26


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


def period(numpy, count):
    """What most workloads start from (`number_at` of inputs.cpp)."""
    return (numpy.arange(count) % 1009).astype(numpy.float32) * numpy.float32(0.001) - numpy.float32(0.3)


def erf(numpy, x):
    """The error function within 1.5e-7: NumPy has none (Abramowitz and Stegun, 7.1.26)."""
    size = numpy.abs(x)
    t = 1 / (1 + numpy.float32(0.3275911) * size)
    series = numpy.float32(1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + numpy.float32(coefficient)
    return numpy.copysign(1 - series * t * numpy.exp(-size * size), x)


def share_below(numpy, x):
    """The normal distribution's share below x."""
    return (erf(numpy, x * numpy.float32(0.5**0.5)) + 1) * numpy.float32(0.5)


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


def copy(numpy):
    x = period(numpy, LARGE)
    y = numpy.zeros_like(x)
    return lambda: numpy.copyto(y, x)


def add(numpy):
    x = period(numpy, LARGE)
    y = x[::-1].copy()
    return lambda: x + y


def total(numpy):
    x = period(numpy, LARGE)
    return x.sum


def transpose(numpy):
    x = period(numpy, LARGE).reshape(8192, 8192)
    return lambda: numpy.ascontiguousarray(x.T)


def softmax(numpy):
    x = period(numpy, 4096 * 1024).reshape(4096, 1024) * 8

    def step():
        exponentials = numpy.exp(x - x.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    return step


def fork_join(numpy):
    """The branches one after another: NumPy has no streams."""
    starts = period(numpy, 8 * 1000).reshape(8, 1000)
    scale = numpy.float32(0.999)
    summand = numpy.float32(0.1)

    def step():
        ends = []
        for z in starts:
            for _ in range(16):
                z = z * scale + summand
            ends.append(z)
        result = ends[0] + ends[1]
        for z in ends[2:]:
            result = result + z
        return result

    return step


def jacobi(numpy):
    source = numpy.zeros((256, 256), dtype=numpy.float32)
    source[64, 64] = 1
    source[200, 31] = -1
    quarter = numpy.float32(0.25)

    def step():
        u = numpy.zeros_like(source)
        for _ in range(50):
            u = (numpy.roll(u, 1, 0) + numpy.roll(u, -1, 0) + numpy.roll(u, 1, 1) + numpy.roll(u, -1, 1)
                 + source) * quarter
        return u

    return step


def black_scholes(numpy):
    i = numpy.arange(1 << 20)
    tenth = numpy.float32(0.1)
    spot = 50 + (i % 997).astype(numpy.float32) * tenth
    strike = 60 + (i % 787).astype(numpy.float32) * tenth
    years = numpy.float32(0.25) + (i % 61).astype(numpy.float32) * numpy.float32(0.05)
    rate = numpy.float32(0.02)
    volatility = numpy.float32(0.3)
    drift_rate = numpy.float32(0.02 + 0.5 * 0.3**2)

    def step():
        spread = numpy.sqrt(years) * volatility
        d1 = (numpy.log(spot / strike) + years * drift_rate) / spread
        d2 = d1 - spread
        discounted = strike * numpy.exp(years * -rate)
        call = spot * share_below(numpy, d1) - discounted * share_below(numpy, d2)
        put = discounted * share_below(numpy, -d2) - spot * share_below(numpy, -d1)
        return call, put

    return step


def layernorm_gelu(numpy):
    x = period(numpy, 4096 * 1024).reshape(4096, 1024)
    column = numpy.arange(1024)
    scale = numpy.float32(0.5) + (column % 7).astype(numpy.float32) * numpy.float32(0.125)
    shift = (column % 5).astype(numpy.float32) * numpy.float32(0.25) - numpy.float32(0.5)

    def step():
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = numpy.sqrt(x.var(axis=-1, keepdims=True) + numpy.float32(1e-5))
        y = centred / deviation * scale + shift
        return y * share_below(numpy, y)

    return step


# Name, the commands of a step of Refrain's, and what makes the step.
WORKLOADS = (
    ("seed3", 5, seed3),
    ("eager_axpy_1k", 200, axpy),
    ("copy_64m", 1, copy),
    ("add_64m", 1, add),
    ("sum_64m", 2, total),
    ("transpose_8k", 1, transpose),
    ("softmax_4096x1024", 1, softmax),
    ("fork_join_8x16", 263, fork_join),
    ("jacobi_256x50", 450, jacobi),
    ("blackscholes_1m", 35, black_scholes),
    ("layernorm_gelu", 9, layernorm_gelu),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each workload")
    parser.add_argument("--repeat", type=int, default=0, help="repetitions in place of the budget")
    parser.add_argument("--workload", action="append", help="only this one; may be given several times")
    options = parser.parse_args()
    try:
        import numpy
    except ImportError:
        print(json.dumps({"missing": f"NumPy is not installed for {sys.executable}"}))
        return
    chosen = [row for row in WORKLOADS if not options.workload or row[0] in options.workload]
    if not chosen:
        print(json.dumps({"missing": "these workloads have no counterpart in NumPy"}))
    for workload, commands, make in chosen:
        step_us, repetitions = median_us(make(numpy), options.budget, options.repeat)
        row = {"workload": workload, "commands": commands, "host_us": step_us, "total_us": step_us,
               "back_to_back_us": step_us, "repetitions": repetitions}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
