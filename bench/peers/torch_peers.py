#!/usr/bin/env python3
"""Times PyTorch: eager; as a torch.cuda.CUDAGraph; by torch.compile(mode="reduce-overhead"); calls of functions by
torch.cuda.make_graphed_callables too.

Without tf32 and without gradients. Random numbers come from seed 0, so that on CUDA eager steps and graphs draw what
Refrain draws; compiled code has numbers of its own, and so has PyTorch's generator on the CPU.
"""

import gc

import measuring

WARM_UPS = 3  # of what is captured or compiled
EXACT = "fp32 op by op, products fp32 (no tf32)"
COMPILED = {"cuda": "fp32 contracted, products fp32 (no tf32)", "host": "fp32, products fp32"}


def makers(kind):
    import torch
    import torch_programs

    is_cuda = kind == "cuda"
    if is_cuda and not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no CUDA device")
    device = "cuda" if is_cuda else "cpu"
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)
    synchronize = torch.cuda.synchronize if is_cuda else lambda: None

    def program(step, issue, results_of, note, has_own_numbers, memory=None):
        """`results_of`: what `issue` gave, where the results are elsewhere."""

        def first_results():
            if step.reset:
                step.reset()
            torch.manual_seed(0)
            given = issue()
            return [result.detach().double().cpu().numpy() for result in (results_of() if results_of else given)]

        return measuring.Program(issue, synchronize, first_results, note, step.is_random and has_own_numbers, memory)

    def pool_bytes(pool):
        """What the allocator has set aside for a graph's private pool."""
        segments = torch.cuda.memory_snapshot()
        return sum(segment["total_size"] for segment in segments if segment.get("segment_pool_id") == pool)

    def eager(make):
        step = make(device)

        def issue():
            return step.call(*step.tensors)

        issue()
        return program(step, issue, step.results, EXACT, not is_cuda)

    def captured(make):
        step = make(device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                step.call(*step.tensors)
        torch.cuda.current_stream().wait_stream(side)
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        with torch.cuda.graph(graph, pool=pool):
            results = step.call(*step.tensors)
        at_once = torch.cuda.max_memory_allocated() - before
        return program(step, graph.replay, step.results or (lambda: results), EXACT, False, (pool_bytes(pool), at_once))

    def compiled(make):
        step = make(device, fused=False) if make is torch_programs.adam else make(device)
        if is_cuda:
            for tensor in step.tensors:
                torch._dynamo.mark_static_address(tensor)  # as a module's own are
        function = torch.compile(step.plain or step.call, mode="reduce-overhead", dynamic=False)

        def issue():
            return function(*step.tensors)

        for _ in range(WARM_UPS):
            issue()
        return program(step, issue, step.results, COMPILED[kind], True)

    def called(function_of, note):
        """Steps by a function of the arguments, which differ from step to step."""

        def ready(make):
            step = make(device)
            issue, reset = step.steps(function_of(step))
            for _ in range(WARM_UPS):
                issue()

            def first_results():
                reset()
                return [result.detach().double().cpu().numpy() for result in issue()]

            return measuring.Program(issue, synchronize, first_results, note)

        return ready

    def reduced(step):
        return torch.compile(step.call, mode="reduce-overhead", dynamic=False)

    def callable_of(step):
        samples = tuple(tensor.clone() for tensor in step.tensors)  # calls copy what they are given there
        return torch.cuda.make_graphed_callables(step.call, samples)

    def alone(way, make):
        """What rows before it have taken is given back."""
        torch.compiler.reset()
        gc.collect()
        if is_cuda:
            torch.cuda.empty_cache()
        return way(make)

    modes = {"torch-eager": eager, "torch-cudagraph": captured, "torch-compile": compiled}
    if not is_cuda:
        del modes["torch-cudagraph"]
    by_call = {
        "torch-eager": called(lambda step: step.call, EXACT),
        "torch-graphed": called(callable_of, EXACT),
        "torch-compile": called(reduced, COMPILED[kind]),
    }
    if not is_cuda:
        del by_call["torch-graphed"]

    def rows(make, ways):
        return [(mode, lambda way=way: alone(way, make)) for mode, way in ways.items()]

    return {name: rows(make, modes) for name, make in torch_programs.STEPS.items()} | {
        name: rows(make, by_call) for name, make in torch_programs.GRAPHED.items()
    }


if __name__ == "__main__":
    measuring.run("PyTorch", makers)
