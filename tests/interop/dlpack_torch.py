"""Arrays that PyTorch, CuPy and Refrain share on a GPU, by DLPack.

    dlpack_torch.py <the library>

Exits with 77 where there is no PyTorch or no GPU. What CuPy would show is left out where it is not.
"""

import gc
import sys

try:
    import torch
except ImportError:
    print("PyTorch is not here")
    sys.exit(77)
if not torch.cuda.is_available():
    print("PyTorch finds no GPU")
    sys.exit(77)
try:
    import cupy
except ImportError:
    cupy = None

from interchange import Library

SIZE = 1_000_003
DTYPES = [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def current_stream():
    # The protocol's number of the legacy stream is 1.
    return torch.cuda.current_stream().cuda_stream or 1


def take(library, tensor):
    return library.from_dlpack(tensor, stream=current_stream())


def settle(library):
    library.c.synchronize_device(1)
    torch.cuda.synchronize()


def check_dtypes(library):
    for dtype in DTYPES:
        x = torch.arange(12, device="cuda").reshape(3, 4).to(dtype)
        y = torch.from_dlpack(take(library, x))
        assert y.dtype == x.dtype and torch.equal(x, y), dtype
        assert y.data_ptr() == x.data_ptr(), "copied"
    for view in [x.t(), x[::2, 1::2], x[1], x[:, 2:3], x[:0]]:
        assert torch.equal(torch.from_dlpack(take(library, view)), view)
        assert torch.equal(torch.from_dlpack(take(library, view).double_plus_one()), view * 2 + 1)


def check_order(library):
    """Neither side waits on the host, and both see each other's work."""
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
        with torch.cuda.stream(stream):
            for _ in range(20):
                torch.cuda._sleep(1_000_000)
                x = torch.full((SIZE,), 3.0, device="cuda")
                array = take(library, x)
                array.add_one()
                y = torch.from_dlpack(array.double_plus_one())
                assert (y == 9).all()
                z = torch.from_dlpack(array)
                assert (z == 4).all()
                del x, array, y, z
        stream.synchronize()


def check_reuse(library):
    """Memory that PyTorch lets go of while its work is under way is not Refrain's to use before."""
    x = torch.ones(SIZE, device="cuda")
    ones = take(library, x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(20):
            y = torch.from_dlpack(ones.double_plus_one())
            torch.cuda._sleep(2_000_000)
            copy = y.clone()
            del y
            others = [ones.double_plus_one().double_plus_one() for _ in range(4)]
            assert (copy == 3).all(), "overwritten"
            del others


def check_lifetimes(library):
    settle(library)
    before = library.c.live_bytes(1)
    held = torch.cuda.memory_allocated()
    x = torch.ones(SIZE, device="cuda")
    array = take(library, x)
    y = torch.from_dlpack(array.double_plus_one())
    del x
    gc.collect()
    assert library.c.live_bytes(1) > before and torch.cuda.memory_allocated() > held
    assert (y == 3).all() and (torch.from_dlpack(array) == 1).all()
    del array, y
    gc.collect()
    settle(library)
    assert library.c.live_bytes(1) == before, "Refrain's memory has not come back"
    assert torch.cuda.memory_allocated() == held, "PyTorch's memory has not come back"


def check_cupy(library):
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.arange(SIZE, dtype="f4")
        array = library.from_dlpack(x, stream=stream.ptr)
        y = cupy.from_dlpack(array.double_plus_one())
        assert bool((y == x * 2 + 1).all())
        assert cupy.from_dlpack(array).data.ptr == x.data.ptr, "copied"
        matrix = x[:12].reshape(3, 4)
        view = library.from_dlpack(matrix, stream=stream.ptr).transpose()
        assert bool((cupy.from_dlpack(view) == matrix.T).all())
    del x, array, y, view, matrix
    gc.collect()
    stream.synchronize()


def main():
    library = Library(sys.argv[1])
    check_dtypes(library)
    check_order(library)
    check_reuse(library)
    check_lifetimes(library)
    if cupy is not None:
        check_cupy(library)
    print("PyTorch", torch.__version__, "CuPy", cupy.__version__ if cupy else "(not here)", "share arrays: right")


main()
