"""The workloads for libraries that speak NumPy: NumPy itself and CuPy, one op after another."""

import inputs
from inputs import F


class Programs:
    """`xp`: the library; `normal` and `uniform` draw float32 of a shape; `erf` is the error function."""

    def __init__(self, xp, normal, uniform, erf):
        self.xp = xp
        self.normal = normal
        self.uniform = uniform
        self.erf = erf

    def array(self, values):
        return self.xp.asarray(values)

    def numbers(self, *shape):
        count = 1
        for extent in shape:
            count *= extent
        return self.array(inputs.numbers(count).reshape(shape))

    # Each returns a step and, where steps go on from arrays, what puts them back.

    def seed1(self):
        five, three = self.array([1, 2, 3, 4, 5]), self.array([10, 20, 30])

        def step():
            _ = five * 2
            return (three.copy(),)

        return step, None

    def seed2(self):
        def step():
            t1 = self.normal((100, 100)) * F(2)
            return (self.normal((100, 100)) + t1,)

        return step, None

    def seed3(self):
        def step():
            a = self.normal((50, 50)) * F(3)
            b = self.normal((50, 50)) + F(5)
            return (a + b,)

        return step, None

    def axpy(self):
        start = self.array(inputs.axpy_start())
        return self.chain_of(start, 100), None

    def chain(self, count):
        return self.chain_of(self.numbers(count), inputs.CHAIN_PAIRS), None

    def chain_of(self, start, pairs):
        y = inputs.addend(start)
        scale = F(inputs.CHAIN_SCALE)

        def step():
            z = start
            for _ in range(pairs):
                z = z * scale
                z = z + y
            return (z,)

        return step

    def copy(self):
        x = self.numbers(inputs.LARGE)
        y = self.xp.zeros_like(x)

        def step():
            self.xp.copyto(y, x)
            return (y,)

        return step, None

    def add(self):
        x = self.numbers(inputs.LARGE)
        y = x[::-1].copy()
        return lambda: (x + y,), None

    def total(self):
        x = self.numbers(inputs.LARGE)
        return lambda: (self.xp.sum(x),), None

    def totals(self, rows, columns, axis):
        x = self.numbers(rows, columns)
        return lambda: (self.xp.sum(x, axis=axis),), None

    def roll(self):
        x = self.numbers(inputs.EXTENT, inputs.EXTENT)
        return lambda: (self.xp.roll(x, 1, 1),), None

    def transpose(self):
        x = self.numbers(inputs.EXTENT, inputs.EXTENT)
        return lambda: (self.xp.ascontiguousarray(x.T),), None

    def softmax(self):
        xp = self.xp
        x = self.numbers(inputs.ROWS, inputs.COLUMNS) * F(8)

        def step():
            exponentials = xp.exp(x - x.max(axis=-1, keepdims=True))
            return (exponentials / exponentials.sum(axis=-1, keepdims=True),)

        return step, None

    def fork_join(self):
        """The branches one after another."""
        starts = [self.array(start) for start in inputs.branch_starts()]
        scale, summand = F(inputs.BRANCH_SCALE), F(inputs.BRANCH_SUMMAND)

        def step():
            ends = []
            for z in starts:
                for _ in range(inputs.BRANCH_PAIRS):
                    z = z * scale + summand
                ends.append(z)
            result = ends[0] + ends[1]
            for z in ends[2:]:
                result = result + z
            return (result,)

        return step, None

    def jacobi(self):
        roll = self.xp.roll
        source = self.array(inputs.grid_source())
        start = self.xp.zeros_like(source)

        def step():
            u = start
            for _ in range(inputs.SWEEPS):
                u = (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) + source) * F(0.25)
            return (u,)

        return step, None

    def conjugate_gradients(self):
        xp = self.xp
        b = self.numbers(inputs.GRID, inputs.GRID)

        def poisson(p):
            product = p * F(4)
            product[1:] -= p[:-1]
            product[:-1] -= p[1:]
            product[:, 1:] -= p[:, :-1]
            product[:, :-1] -= p[:, 1:]
            return product

        def dot(left, right):
            return xp.dot(left.ravel(), right.ravel())

        def step():
            x = xp.zeros_like(b)
            r = p = b
            rr = dot(r, r)
            for _ in range(inputs.CG_ITERATIONS):
                q = poisson(p)
                alpha = rr / dot(p, q)
                x += alpha * p
                r = r - alpha * q
                following = dot(r, r)
                p = r + following / rr * p
                rr = following
            return (x,)

        return step, None

    def black_scholes(self):
        xp = self.xp
        spot, strike, years = (self.array(values) for values in inputs.contracts())
        drift_rate = F(inputs.INTEREST_RATE + 0.5 * inputs.VOLATILITY**2)

        def share_below(x):
            return (self.erf(x * F(0.5**0.5)) + F(1)) * F(0.5)

        def step():
            spread = xp.sqrt(years) * F(inputs.VOLATILITY)
            d1 = (xp.log(spot / strike) + years * drift_rate) / spread
            d2 = d1 - spread
            discounted = strike * xp.exp(years * F(-inputs.INTEREST_RATE))
            call = spot * share_below(d1) - discounted * share_below(d2)
            put = discounted * share_below(-d2) - spot * share_below(-d1)
            return call, put

        return step, None

    def pi(self):
        def step():
            x, y = self.uniform((inputs.POINTS,)), self.uniform((inputs.POINTS,))
            hits = (x * x + y * y < 1).sum()
            return hits * F(4) / inputs.POINTS, hits

        return step, None

    def adam(self):
        xp = self.xp
        starts, gradients = inputs.tensors()
        parameters = [self.array(start).copy() for start in starts]
        gradients = [self.array(gradient) for gradient in gradients]
        first = [xp.zeros_like(start) for start in parameters]
        second = [xp.zeros_like(start) for start in parameters]
        beta1, beta2, taken = F(inputs.BETA1), F(inputs.BETA2), [0]

        def step():
            taken[0] += 1
            correction1, correction2 = F(1 - inputs.BETA1 ** taken[0]), F(1 - inputs.BETA2 ** taken[0])
            for parameter, gradient, m, v in zip(parameters, gradients, first, second):
                m *= beta1
                m += gradient * (1 - beta1)
                v *= beta2
                v += gradient * gradient * (1 - beta2)
                deviation = xp.sqrt(v / correction2) + F(inputs.EPSILON)
                parameter -= m / correction1 / deviation * F(inputs.LEARNING_RATE)
            return [array for state in zip(parameters, first, second) for array in state]

        def reset():
            taken[0] = 0
            for parameter, start, m, v in zip(parameters, starts, first, second):
                parameter[...] = self.array(start)
                m[...] = 0
                v[...] = 0

        return step, reset

    def layernorm_gelu(self):
        xp = self.xp
        x = self.numbers(inputs.ROWS, inputs.COLUMNS)
        scale, shift = self.array(inputs.norm_scale()), self.array(inputs.norm_shift())

        def step():
            centred = x - x.mean(axis=-1, keepdims=True)
            variance = (centred * centred).mean(axis=-1, keepdims=True)
            y = centred / xp.sqrt(variance + F(inputs.NORM_EPSILON)) * scale + shift
            return (y * F(0.5) * (F(1) + self.erf(y * F(0.5**0.5))),)

        return step, None

    def mlp(self):
        xp = self.xp
        start = self.array(inputs.mlp_input())
        weights = [self.array(weight) for weight in inputs.mlp_weights()]
        bias = xp.full((inputs.MLP_WIDTH,), inputs.MLP_BIAS, dtype=xp.float32)

        def step():
            x = start
            for weight in weights:
                x = xp.maximum(x @ weight.T + bias, F(0))
            return (x,)

        return step, None

    def all(self):
        """By workload: what makes it, and whether it draws random numbers."""
        return {
            "seed1": (self.seed1, False),
            "seed2": (self.seed2, True),
            "seed3": (self.seed3, True),
            "eager_axpy_1k": (self.axpy, False),
            "copy_64m": (self.copy, False),
            "add_64m": (self.add, False),
            "sum_64m": (self.total, False),
            "sum_rows_64m": (lambda: self.totals(65536, 1024, 1), False),
            "sum_columns_64m": (lambda: self.totals(8192, 8192, 0), False),
            "roll_64m": (self.roll, False),
            "transpose_8k": (self.transpose, False),
            "chain_100_1k": (lambda: self.chain(1000), False),
            "chain_100_1m": (lambda: self.chain(1 << 20), False),
            "chain_100_64m": (lambda: self.chain(inputs.LARGE), False),
            "softmax_4096x1024": (self.softmax, False),
            "fork_join_8x16": (self.fork_join, False),
            "jacobi_256x50": (self.jacobi, False),
            "cg_poisson_256": (self.conjugate_gradients, False),
            "blackscholes_1m": (self.black_scholes, False),
            "monte_carlo_pi_16m": (self.pi, True),
            "adam_200": (self.adam, False),
            "layernorm_gelu": (self.layernorm_gelu, False),
            "mlp": (self.mlp, False),
        }
