"""A library that uses Refrain, called from PyTorch: at once, and inside torch.cuda.graph.

    attach_torch.py <the library>

Exits with 77 where there is no PyTorch or no GPU.
"""

import ctypes
import gc
import sys
import time

try:
    import torch
except ImportError:
    print("PyTorch is not here")
    sys.exit(77)
if not torch.cuda.is_available():
    print("PyTorch finds no GPU")
    sys.exit(77)

SIZE = 100_003


def load(path):
    library = ctypes.CDLL(path)
    library.double_plus_one.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.live_bytes.restype = ctypes.c_int64
    return library


def double_plus_one(library, x):
    out = torch.empty_like(x)
    stream = torch.cuda.current_stream().cuda_stream
    status = library.double_plus_one(stream, x.data_ptr(), out.data_ptr(), x.numel())
    assert status == 0, "the library failed"
    return out


def program(library, x):
    """Four calls with PyTorch's own work before, between and after."""
    y = double_plus_one(library, x * 3)
    for _ in range(3):
        y = double_plus_one(library, y + x)
    return y - 1


def reference(x):
    y = x * 3 * 2 + 1
    for _ in range(3):
        y = (y + x) * 2 + 1
    return y - 1


def numbers():
    return torch.randint(-100, 100, (SIZE,), device="cuda").float()


def check_eager(library):
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
        with torch.cuda.stream(stream):
            x = numbers()
            assert torch.equal(program(library, x), reference(x)), "eager"
        stream.synchronize()


def check_captured(library, mode):
    torch.cuda.synchronize()
    before = library.live_bytes()
    x = numbers()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        y = program(library, x)
    garbage = [torch.full((SIZE,), -777.0, device="cuda") for _ in range(20)]
    for _ in range(3):
        x.copy_(numbers())
        graph.replay()
        assert torch.equal(y, reference(x)), "captured in mode " + mode
    check_eager(library)  # between replays
    graph.replay()
    assert torch.equal(y, reference(x)), "captured in mode " + mode + ", after eager calls"
    torch.cuda.synchronize()
    assert library.live_bytes() > before, "the graph holds the library's memory"
    del graph, y, garbage
    gc.collect()
    deadline = time.monotonic() + 10  # CUDA gives back in a thread of its own
    while library.live_bytes() > before:
        assert time.monotonic() < deadline, "the library's memory has not come back"


def main():
    library = load(sys.argv[1])
    for mode in ("global", "thread_local", "relaxed"):  # the first one in a process that has never used the library
        check_captured(library, mode)
        check_eager(library)
    print("PyTorch", torch.__version__, "eager and captured: right")


main()
