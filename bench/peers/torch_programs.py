"""The workloads in PyTorch: functions of tensors that exist before, with streams and events where workloads have them.

A program's tensors are static: CUDA graphs and compiled functions find them where they were.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import inputs
import torch
import torch.nn.functional as functional


@dataclass
class Step:
    """`call(*tensors)` is a step."""

    call: Callable
    tensors: list = field(default_factory=list)
    plain: Callable | None = None  # the same without streams, for compilers, where `call` has some
    results: Callable | None = None  # the tensors with the results, where `call` does not return them
    reset: Callable | None = None  # gives tensors back what they held
    is_random: bool = False
    # Where steps differ in their arguments: `steps(function)` gives what issues them, by a function that stands for
    # `call`, and what begins anew.
    steps: Callable | None = None


def put(values, device):
    return torch.from_numpy(values.copy()).to(device)


def numbers(device, *shape):
    return put(inputs.numbers(torch.Size(shape).numel()).reshape(shape), device)


def seed1(device):
    five, three = torch.tensor([1, 2, 3, 4, 5], device=device), torch.tensor([10, 20, 30], device=device)

    def plain(five, three):
        _ = five * 2
        return (three.clone(),)

    if device == "cpu":
        return Step(plain, [five, three])
    stream, event = torch.cuda.Stream(), torch.cuda.Event()

    def call(five, three):
        main = torch.cuda.current_stream()
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            _ = five * 2
            event.record()
        main.wait_event(event)
        return (three.clone(),)

    return Step(call, [five, three], plain)


def seed2(device):
    def plain():
        t1 = torch.randn(100, 100, device=device) * 2
        return (torch.randn(100, 100, device=device) + t1,)

    if device == "cpu":
        return Step(plain, is_random=True)
    stream1, stream2, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()

    def call():
        main = torch.cuda.current_stream()
        stream1.wait_stream(main)
        with torch.cuda.stream(stream1):
            t1 = torch.randn(100, 100, device=device)
            t1 = t1 * 2
            event.record()
        with torch.cuda.stream(stream2):
            stream2.wait_event(event)
            t2 = torch.randn(100, 100, device=device)
            t2 = t2 + t1
        main.wait_stream(stream2)
        return (t2,)

    return Step(call, plain=plain, is_random=True)


def seed3(device):
    def plain():
        a = torch.randn(50, 50, device=device) * 3
        b = torch.randn(50, 50, device=device) + 5
        return (a + b,)

    if device == "cpu":
        return Step(plain, is_random=True)
    stream_a, stream_b = torch.cuda.Stream(), torch.cuda.Stream()
    event_a, event_b = torch.cuda.Event(), torch.cuda.Event()

    def call():
        main = torch.cuda.current_stream()
        stream_a.wait_stream(main)
        stream_b.wait_stream(main)
        with torch.cuda.stream(stream_a):
            a = torch.randn(50, 50, device=device)
            a = a * 3
            event_a.record()
        with torch.cuda.stream(stream_b):
            b = torch.randn(50, 50, device=device)
            b = b + 5
            event_b.record()
        main.wait_event(event_a)
        main.wait_event(event_b)
        return (a + b,)

    return Step(call, plain=plain, is_random=True)


def chain_of(start, pairs):
    def call(start, y):
        z = start
        for _ in range(pairs):
            z = z * inputs.CHAIN_SCALE
            z = z + y
        return (z,)

    return Step(call, [start, start * 0.25 + 1])


def axpy(device):
    return chain_of(put(inputs.axpy_start(), device), 100)


def chain(device, count):
    return chain_of(numbers(device, count), inputs.CHAIN_PAIRS)


def copy(device):
    x = numbers(device, inputs.LARGE)
    return Step(lambda x, y: (y.copy_(x),), [x, torch.zeros_like(x)])


def add(device):
    x = numbers(device, inputs.LARGE)
    return Step(lambda x, y: (x + y,), [x, x.flip(0).contiguous()])


def total(device):
    return Step(lambda x: (x.sum(),), [numbers(device, inputs.LARGE)])


def totals(device, rows, columns, axis):
    return Step(lambda x: (x.sum(axis),), [numbers(device, rows, columns)])


def roll(device):
    return Step(lambda x: (torch.roll(x, 1, 1),), [numbers(device, inputs.EXTENT, inputs.EXTENT)])


def transpose(device):
    return Step(lambda x: (x.t().contiguous(),), [numbers(device, inputs.EXTENT, inputs.EXTENT)])


def softmax(device):
    return Step(lambda x: (torch.softmax(x, -1),), [numbers(device, inputs.ROWS, inputs.COLUMNS) * 8])


def branch(z):
    for _ in range(inputs.BRANCH_PAIRS):
        z = z * inputs.BRANCH_SCALE + inputs.BRANCH_SUMMAND
    return z


def sum_of(ends):
    result = ends[0] + ends[1]
    for z in ends[2:]:
        result = result + z
    return (result,)


def fork_join(device):
    starts = [put(start, device) for start in inputs.branch_starts()]

    def plain(*starts):
        return sum_of([branch(z) for z in starts])

    if device == "cpu":
        return Step(plain, starts)
    streams = [torch.cuda.Stream() for _ in starts]
    events = [torch.cuda.Event() for _ in starts]

    def call(*starts):
        main = torch.cuda.current_stream()
        ends = []
        for start, stream, event in zip(starts, streams, events):
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                ends.append(branch(start))
                event.record()
        for event in events:
            main.wait_event(event)
        return sum_of(ends)

    return Step(call, starts, plain)


def jacobi(device):
    source = put(inputs.grid_source(), device)

    def call(u, source):
        for _ in range(inputs.SWEEPS):
            rolls = torch.roll(u, 1, 0) + torch.roll(u, -1, 0) + torch.roll(u, 1, 1) + torch.roll(u, -1, 1)
            u = (rolls + source) * 0.25
        return (u,)

    return Step(call, [torch.zeros_like(source), source])


def conjugate_gradients(device):
    def poisson(p):
        product = p * 4
        product[1:] -= p[:-1]
        product[:-1] -= p[1:]
        product[:, 1:] -= p[:, :-1]
        product[:, :-1] -= p[:, 1:]
        return product

    def dot(left, right):
        return torch.dot(left.flatten(), right.flatten())

    def call(b):
        x = torch.zeros_like(b)
        r = p = b
        rr = dot(r, r)
        for _ in range(inputs.CG_ITERATIONS):
            q = poisson(p)
            alpha = rr / dot(p, q)
            x = x + alpha * p
            r = r - alpha * q
            following = dot(r, r)
            p = r + following / rr * p
            rr = following
        return (x,)

    return Step(call, [numbers(device, inputs.GRID, inputs.GRID)])


def black_scholes(device):
    drift_rate = inputs.INTEREST_RATE + 0.5 * inputs.VOLATILITY**2

    def share_below(x):
        return (torch.erf(x * 0.5**0.5) + 1) * 0.5

    def call(spot, strike, years):
        spread = torch.sqrt(years) * inputs.VOLATILITY
        d1 = (torch.log(spot / strike) + years * drift_rate) / spread
        d2 = d1 - spread
        discounted = strike * torch.exp(years * -inputs.INTEREST_RATE)
        put_price = discounted * share_below(-d2) - spot * share_below(-d1)
        return spot * share_below(d1) - discounted * share_below(d2), put_price

    return Step(call, [put(values, device) for values in inputs.contracts()])


def pi(device):
    def call():
        x, y = torch.rand(inputs.POINTS, device=device), torch.rand(inputs.POINTS, device=device)
        hits = (x * x + y * y < 1).sum()
        return hits * 4.0 / inputs.POINTS, hits

    return Step(call, is_random=True)


def adam(device, fused=True):
    """torch.optim's own, which does the same: fused, or of lists of tensors for compilers."""
    starts, gradients = inputs.tensors()
    parameters = [torch.nn.Parameter(put(start, device)) for start in starts]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = put(gradient, device)
    ways = {"fused": True} if fused else {"foreach": True}
    optimiser = torch.optim.Adam(
        parameters, lr=inputs.LEARNING_RATE, betas=(inputs.BETA1, inputs.BETA2), eps=inputs.EPSILON,
        capturable=device != "cpu", **ways,
    )  # fmt: skip

    def results():
        states = [(parameter, optimiser.state[parameter]) for parameter in parameters]
        return [each for parameter, state in states for each in (parameter, state["exp_avg"], state["exp_avg_sq"])]

    def reset():
        for parameter, start in zip(parameters, starts):
            parameter.copy_(put(start, device))
            for value in optimiser.state[parameter].values():
                value.zero_()

    return Step(optimiser.step, results=results, reset=reset)


def layernorm_gelu(device):
    x = numbers(device, inputs.ROWS, inputs.COLUMNS)
    tensors = [x, put(inputs.norm_scale(), device), put(inputs.norm_shift(), device)]

    def call(x, scale, shift):
        return (functional.gelu(functional.layer_norm(x, (inputs.COLUMNS,), scale, shift, inputs.NORM_EPSILON)),)

    return Step(call, tensors)


def mlp(device):
    tensors = [put(inputs.mlp_input(), device), torch.full((inputs.MLP_WIDTH,), inputs.MLP_BIAS, device=device)]
    tensors += [put(weight, device) for weight in inputs.mlp_weights()]

    def call(x, bias, *weights):
        for weight in weights:
            x = functional.relu(functional.linear(x, weight, bias))
        return (x,)

    return Step(call, tensors)


def halved(x):
    return x * 0.5 + 1


def graphed_y_step(device):
    x = put(inputs.graphed(), device)

    def steps(function):
        return lambda: (function(x),), lambda: None

    return Step(halved, [x], steps=steps)


def graphed_x_step(device):
    start = put(inputs.graphed(), device)

    def steps(function):
        x = start

        def issue():
            nonlocal x
            x = function(x).clone()  # graphs would overwrite it
            return (x,)

        def reset():
            nonlocal x
            x = start

        return issue, reset

    return Step(halved, [start], steps=steps)


def graphed_scalar(device):
    x = put(inputs.graphed(), device)
    rates = [torch.tensor(inputs.rate(number), dtype=torch.float32, device=device) for number in range(7)]

    def steps(function):
        number = 0

        def issue():
            nonlocal number
            number += 1
            return (function(x, rates[(number - 1) % 7]),)

        def reset():
            nonlocal number
            number = 0

        return issue, reset

    return Step(lambda x, rate: x * rate, [x, rates[0]], steps=steps)


def graphed_new_buffers(device):
    turns = [
        [put(inputs.graphed(turn + i), device) for i in range(inputs.GRAPHED_INPUTS)]
        for turn in range(inputs.GRAPHED_TURNS)
    ]

    def steps(function):
        turn = 0

        def issue():
            nonlocal turn
            turn += 1
            return (function(*turns[(turn - 1) % len(turns)]),)

        def reset():
            nonlocal turn
            turn = 0

        return issue, reset

    return Step(lambda a, b, c, d: a * b + c * d, turns[0], steps=steps)


GRAPHED = {
    "graphed_y_step": graphed_y_step,
    "graphed_x_step": graphed_x_step,
    "graphed_scalar": graphed_scalar,
    "graphed_new_buffers": graphed_new_buffers,
}

STEPS = {
    "seed1": seed1,
    "seed2": seed2,
    "seed3": seed3,
    "eager_axpy_1k": axpy,
    "copy_64m": copy,
    "add_64m": add,
    "sum_64m": total,
    "sum_rows_64m": lambda device: totals(device, 65536, 1024, 1),
    "sum_columns_64m": lambda device: totals(device, 8192, 8192, 0),
    "roll_64m": roll,
    "transpose_8k": transpose,
    "chain_100_1k": lambda device: chain(device, 1000),
    "chain_100_1m": lambda device: chain(device, 1 << 20),
    "chain_100_64m": lambda device: chain(device, inputs.LARGE),
    "softmax_4096x1024": softmax,
    "fork_join_8x16": fork_join,
    "jacobi_256x50": jacobi,
    "cg_poisson_256": conjugate_gradients,
    "blackscholes_1m": black_scholes,
    "monte_carlo_pi_16m": pi,
    "adam_200": adam,
    "layernorm_gelu": layernorm_gelu,
    "mlp": mlp,
}
