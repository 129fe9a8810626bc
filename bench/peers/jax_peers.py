#!/usr/bin/env python3
"""Times JAX: each workload as one function under jax.jit. Where steps repeat in it, once more with lax.fori_loop.

Products are fp32 (jax_default_matmul_precision=highest). Random numbers are JAX's own, and each step takes a key and
gives the next one.
"""

import os
from collections import deque

import measuring

NOTE = "fp32 contracted, products fp32 (highest)"


def makers(kind):
    os.environ["JAX_PLATFORMS"] = "cpu" if kind == "host" else "cuda"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others use the device too
    import jax
    import jax.numpy as jnp

    import inputs
    import numpy
    from jax import lax, random
    from jax.scipy.special import erf

    jax.config.update("jax_default_matmul_precision", "highest")
    jax.devices()  # raises where there is none

    # Each is (function, arguments): results are a tuple.

    def put(values):
        return jax.device_put(values)

    def numbers(*shape):
        return put(inputs.numbers(int(numpy.prod(shape))).reshape(shape))

    def seed1():
        def step(five, three):
            _ = five * 2
            return (jnp.copy(three),)

        return step, [put(numpy.arange(1, 6)), put(numpy.array([10, 20, 30]))]

    def seed2(key):
        key, first, second = random.split(key, 3)
        t1 = random.normal(first, (100, 100)) * 2
        return key, (random.normal(second, (100, 100)) + t1,)

    def seed3(key):
        key, first, second = random.split(key, 3)
        a = random.normal(first, (50, 50)) * 3
        b = random.normal(second, (50, 50)) + 5
        return key, (a + b,)

    def pi(key):
        key, first, second = random.split(key, 3)
        x, y = random.uniform(first, (inputs.POINTS,)), random.uniform(second, (inputs.POINTS,))
        hits = (x * x + y * y < 1).sum()
        return key, (hits * 4.0 / inputs.POINTS, hits)

    def chain_of(start, pairs):
        def step(start, y):
            z = start
            for _ in range(pairs):
                z = z * inputs.CHAIN_SCALE
                z = z + y
            return (z,)

        return step, [put(start), put(inputs.addend(start))]

    def add():
        x = inputs.numbers(inputs.LARGE)
        return lambda x, y: (x + y,), [put(x), put(x[::-1].copy())]

    def branches():
        def step(*starts):
            ends = []
            for z in starts:
                for _ in range(inputs.BRANCH_PAIRS):
                    z = z * inputs.BRANCH_SCALE + inputs.BRANCH_SUMMAND
                ends.append(z)
            result = ends[0] + ends[1]
            for z in ends[2:]:
                result = result + z
            return (result,)

        return step, [put(start) for start in inputs.branch_starts()]

    def repeated(count, body, state, is_loop):
        if is_loop:
            return lax.fori_loop(0, count, lambda _, state: body(state), state)
        for _ in range(count):
            state = body(state)
        return state

    def jacobi(is_loop):
        source = inputs.grid_source()

        def step(u, source):
            def sweep(u):
                rolls = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
                return (rolls + source) * 0.25

            return (repeated(inputs.SWEEPS, sweep, u, is_loop),)

        return step, [put(numpy.zeros_like(source)), put(source)]

    def conjugate_gradients(is_loop):
        def poisson(p):
            product = p * 4
            product = product.at[1:].add(-p[:-1]).at[:-1].add(-p[1:])
            return product.at[:, 1:].add(-p[:, :-1]).at[:, :-1].add(-p[:, 1:])

        def dot(left, right):
            return jnp.dot(left.ravel(), right.ravel())

        def iteration(state):
            x, r, p, rr = state
            q = poisson(p)
            alpha = rr / dot(p, q)
            r = r - alpha * q
            following = dot(r, r)
            return x + alpha * p, r, r + following / rr * p, following

        def step(b):
            start = (jnp.zeros_like(b), b, b, dot(b, b))
            return (repeated(inputs.CG_ITERATIONS, iteration, start, is_loop)[0],)

        return step, [numbers(inputs.GRID, inputs.GRID)]

    def black_scholes():
        drift_rate = inputs.INTEREST_RATE + 0.5 * inputs.VOLATILITY**2

        def share_below(x):
            return (erf(x * 0.5**0.5) + 1) * 0.5

        def step(spot, strike, years):
            spread = jnp.sqrt(years) * inputs.VOLATILITY
            d1 = (jnp.log(spot / strike) + years * drift_rate) / spread
            d2 = d1 - spread
            discounted = strike * jnp.exp(years * -inputs.INTEREST_RATE)
            put_price = discounted * share_below(-d2) - spot * share_below(-d1)
            return spot * share_below(d1) - discounted * share_below(d2), put_price

        return step, [put(values) for values in inputs.contracts()]

    def layernorm_gelu():
        def step(x, scale, shift):
            centred = x - x.mean(axis=-1, keepdims=True)
            variance = x.var(axis=-1, keepdims=True)
            y = centred * lax.rsqrt(variance + inputs.NORM_EPSILON) * scale + shift
            return (jax.nn.gelu(y, approximate=False),)

        return step, [numbers(inputs.ROWS, inputs.COLUMNS), put(inputs.norm_scale()), put(inputs.norm_shift())]

    def mlp():
        bias = numpy.full((inputs.MLP_WIDTH,), inputs.MLP_BIAS, numpy.float32)

        def step(x, bias, *weights):
            for weight in weights:
                x = jax.nn.relu(x @ weight.T + bias)
            return (x,)

        return step, [put(values) for values in (inputs.mlp_input(), bias, *inputs.mlp_weights())]

    def adam(state):
        count, parameters, gradients, first, second = state
        count = count + 1
        correction1, correction2 = 1 - inputs.BETA1**count, 1 - inputs.BETA2**count
        first = [inputs.BETA1 * m + (1 - inputs.BETA1) * g for m, g in zip(first, gradients)]
        second = [inputs.BETA2 * v + (1 - inputs.BETA2) * g * g for v, g in zip(second, gradients)]
        parameters = [
            p - inputs.LEARNING_RATE * (m / correction1) / (jnp.sqrt(v / correction2) + inputs.EPSILON)
            for p, m, v in zip(parameters, first, second)
        ]
        return count, parameters, gradients, first, second

    def adam_results(state):
        return [each for tensors in zip(state[1], state[3], state[4]) for each in tensors]

    def adam_start():
        starts, gradients = inputs.tensors()
        zeros = [numpy.zeros_like(start) for start in starts]
        return jax.device_put((numpy.float32(0), starts, gradients, zeros, zeros))

    def program(issue, first, is_random, is_in_order=kind == "cuda"):
        """`issue` gives what to wait for; `first` begins anew and gives the results of a step.

        On the CPU later steps may be done before earlier ones that they do not depend on.
        """
        under_way = deque(maxlen=1 if is_in_order else None)

        def issue_and_keep():
            under_way.append(issue())

        def synchronize():
            jax.block_until_ready(list(under_way))
            under_way.clear()

        def first_results():
            return [numpy.asarray(result, dtype=numpy.float64) for result in first()]

        issue_and_keep()
        synchronize()
        return measuring.Program(issue_and_keep, synchronize, first_results, NOTE, is_random)

    def stateless(make):
        function, arguments = make()
        compiled = jax.jit(function)
        return program(lambda: compiled(*arguments), lambda: compiled(*arguments), False)

    def drawing(function):
        """Each step takes the key that the one before gave."""
        compiled = jax.jit(function)
        key = random.key(0)

        def issue():
            nonlocal key
            key, results = compiled(key)
            return results

        return program(issue, issue, True)

    def optimising():
        """Each step takes the state that the one before gave, and its memory."""
        compiled = jax.jit(adam, donate_argnums=0)
        state = adam_start()

        def issue():
            nonlocal state
            state = compiled(state)
            return state

        def first():
            nonlocal state
            state = adam_start()
            return adam_results(issue())

        return program(issue, first, False, is_in_order=True)

    def called(function, make_arguments):
        """Steps with other arguments each: `make_arguments()` gives what takes the results before, if any, and gives
        the arguments of the step of a number."""

        def make():
            compiled = jax.jit(function)
            arguments = make_arguments()
            number, result = 0, None

            def issue():
                nonlocal number, result
                result = compiled(*arguments(number, result))
                number += 1
                return (result,)

            def first():
                nonlocal number, result
                number, result = 0, None
                return issue()

            return program(issue, first, False)

        return [("jax-jit", make)]

    def halved(x):
        return x * 0.5 + 1

    def y_arguments():
        x = put(inputs.graphed())
        return lambda number, result: (x,)

    def x_arguments():
        start = put(inputs.graphed())
        return lambda number, result: (start if result is None else result,)

    def scalar_arguments():
        x = put(inputs.graphed())
        return lambda number, result: (x, numpy.float32(inputs.rate(number)))

    def new_arguments():
        turns = [
            [put(inputs.graphed(turn + i)) for i in range(inputs.GRAPHED_INPUTS)]
            for turn in range(inputs.GRAPHED_TURNS)
        ]
        return lambda number, result: turns[number % len(turns)]

    def jit(make):
        return [("jax-jit", lambda: stateless(make))]

    def jit_and_loop(make):
        return [
            ("jax-jit", lambda: stateless(lambda: make(False))),
            ("jax-fori", lambda: stateless(lambda: make(True))),
        ]

    def drawn(function):
        return [("jax-jit", lambda: drawing(function))]

    def of_one(function, *shape):
        return jit(lambda: (lambda x: (function(x),), [numbers(*shape)]))

    def chain(count):
        return jit(lambda: chain_of(inputs.numbers(count), inputs.CHAIN_PAIRS))

    return {
        "seed1": jit(seed1),
        "seed2": drawn(seed2),
        "seed3": drawn(seed3),
        "eager_axpy_1k": jit(lambda: chain_of(inputs.axpy_start(), 100)),
        "copy_64m": of_one(jnp.copy, inputs.LARGE),
        "add_64m": jit(add),
        "sum_64m": of_one(jnp.sum, inputs.LARGE),
        "sum_rows_64m": of_one(lambda x: x.sum(axis=1), 65536, 1024),
        "sum_columns_64m": of_one(lambda x: x.sum(axis=0), 8192, 8192),
        "roll_64m": of_one(lambda x: jnp.roll(x, 1, 1), inputs.EXTENT, inputs.EXTENT),
        "transpose_8k": of_one(lambda x: x.T, inputs.EXTENT, inputs.EXTENT),
        "chain_100_1k": chain(1000),
        "chain_100_1m": chain(1 << 20),
        "chain_100_64m": chain(inputs.LARGE),
        "softmax_4096x1024": jit(
            lambda: (lambda x: (jax.nn.softmax(x, axis=-1),), [numbers(inputs.ROWS, inputs.COLUMNS) * 8])
        ),
        "fork_join_8x16": jit(branches),
        "jacobi_256x50": jit_and_loop(jacobi),
        "cg_poisson_256": jit_and_loop(conjugate_gradients),
        "blackscholes_1m": jit(black_scholes),
        "monte_carlo_pi_16m": drawn(pi),
        "adam_200": [("jax-jit", optimising)],
        "layernorm_gelu": jit(layernorm_gelu),
        "mlp": jit(mlp),
        "graphed_y_step": called(halved, y_arguments),
        "graphed_x_step": called(halved, x_arguments),
        "graphed_scalar": called(lambda x, rate: x * rate, scalar_arguments),
        "graphed_new_buffers": called(lambda a, b, c, d: a * b + c * d, new_arguments),
    }


if __name__ == "__main__":
    measuring.run("JAX", makers)
