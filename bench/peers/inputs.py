"""What the workloads start from, as NumPy arrays: bench/inputs.cpp once more."""

import numpy

F = numpy.float32

LARGE = 1 << 26
EXTENT = 8192  # transpose_8k, roll_64m
ROWS, COLUMNS = 4096, 1024
NORM_EPSILON = 1e-5
CHAIN_PAIRS, CHAIN_SCALE = 50, 0.999
BRANCHES, BRANCH_PAIRS, BRANCH_ELEMENTS = 8, 16, 1000
BRANCH_SCALE, BRANCH_SUMMAND = 0.999, 0.1
GRID, SWEEPS, CG_ITERATIONS = 256, 50, 50
CONTRACTS = 1 << 20
INTEREST_RATE, VOLATILITY = 0.02, 0.3
POINTS = 1 << 24
TENSORS = 200
LEARNING_RATE, BETA1, BETA2, EPSILON = 0.01, 0.9, 0.99, 1e-8
GRAPHED_ELEMENTS, GRAPHED_INPUTS, GRAPHED_TURNS = 1000, 4, 64
MLP_LAYERS, MLP_BATCH, MLP_WIDTH, MLP_BIAS = 8, 32, 256, 0.1


def numbers(i):
    """Element i of what most workloads start from."""
    if isinstance(i, int):
        i = numpy.arange(i)
    return (i % 1009).astype(F) * F(0.001) - F(0.3)


def axpy_start():
    return numpy.arange(1000, dtype=F) * F(0.125) - F(60)


def graphed(which=0):
    return axpy_start() + F(which)


def rate(number):
    """graphed_scalar: of the step of that number."""
    return 1 + 0.125 * (number % 7)


def addend(start):
    """What chains add."""
    return start * F(0.25) + F(1)


def norm_scale():
    return F(0.5) + (numpy.arange(COLUMNS) % 7).astype(F) * F(0.125)


def norm_shift():
    return (numpy.arange(COLUMNS) % 5).astype(F) * F(0.25) - F(0.5)


def branch_starts():
    return list(numbers(BRANCHES * BRANCH_ELEMENTS).reshape(BRANCHES, BRANCH_ELEMENTS))


def grid_source():
    source = numpy.zeros((GRID, GRID), dtype=F)
    source[64, 64] = 1
    source[200, 31] = -1
    return source


def contracts():
    """Spot, strike, and years to expiry."""
    i = numpy.arange(CONTRACTS)
    spot = F(50) + (i % 997).astype(F) * F(0.1)
    strike = F(60) + (i % 787).astype(F) * F(0.1)
    years = F(0.25) + (i % 61).astype(F) * F(0.05)
    return spot, strike, years


def tensors():
    """Parameters before the first step, and their gradients."""
    sizes = [64 * (1 + number * 37 % 64) for number in range(TENSORS)]
    starts = [numbers(number * 4096 + numpy.arange(size)) for number, size in enumerate(sizes)]
    gradients = [numbers(numpy.arange(size) * 7 + number) for number, size in enumerate(sizes)]
    return starts, gradients


def mlp_input():
    return numbers(MLP_BATCH * MLP_WIDTH).reshape(MLP_BATCH, MLP_WIDTH)


def mlp_weights():
    """A row for each output."""
    size = MLP_WIDTH * MLP_WIDTH
    flat = [(numbers(numpy.arange(size) * 7 + layer * size) - F(0.204)) * F(0.3) for layer in range(MLP_LAYERS)]
    return [weight.reshape(MLP_WIDTH, MLP_WIDTH) for weight in flat]
