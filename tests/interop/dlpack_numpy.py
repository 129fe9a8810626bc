"""Arrays that NumPy and Refrain share on the host, by DLPack.

    dlpack_numpy.py <the library>

Exits with 77 where there is no NumPy that knows DLPack.
"""

import gc
import sys
import weakref

try:
    import numpy as np
except ImportError:
    print("NumPy is not here")
    sys.exit(77)
if not hasattr(np, "from_dlpack"):
    print("NumPy", np.__version__, "knows no DLPack")
    sys.exit(77)

from interchange import Library


def is_versioned():
    return int(np.__version__.split(".")[0]) >= 2 and int(np.__version__.split(".")[1]) >= 1


def check_shared(library, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    array = library.from_dlpack(x)
    y = np.from_dlpack(array)
    assert y.dtype == x.dtype and np.array_equal(x, y)
    assert np.shares_memory(x, y), "copied"
    assert np.array_equal(np.from_dlpack(array.transpose()), x.T)
    if dtype not in ("?", "u1"):
        array.add_one()
        library.c.synchronize_device(0)
        assert np.array_equal(x, np.arange(12).reshape(3, 4) + 1)
        assert np.array_equal(np.from_dlpack(array.double_plus_one()), x * 2 + 1)


def check_strides(library):
    x = np.arange(24.0).reshape(4, 6)
    for view in [x.T, x[::2, 1::2], x[::-1, ::-1], x[1], x[:, 2:3], x[0:0]]:
        assert np.array_equal(np.from_dlpack(library.from_dlpack(view)), view)
        assert np.array_equal(np.from_dlpack(library.from_dlpack(view).double_plus_one()), view * 2 + 1)


def check_lifetimes(library):
    class Owned(np.ndarray):
        pass

    before = library.c.live_bytes(0)
    x = np.ones(1000, "f4").view(Owned)
    gone = weakref.ref(x)
    array = library.from_dlpack(x)
    del x
    gc.collect()
    assert gone() is not None, "given back under the array"
    y = np.from_dlpack(array.double_plus_one())
    assert library.c.live_bytes(0) > before, "the memory is gone under NumPy"
    assert (y == 3).all()
    del array, y
    gc.collect()
    assert library.c.live_bytes(0) == before, "the memory has not come back"
    assert gone() is None, "not given back"


def check_read_only(library):
    x = np.ones(4, "f4")
    x.flags.writeable = False
    array = library.from_dlpack(x, max_version=(1, 0))
    try:
        array.add_one()
    except AssertionError:
        pass
    else:
        raise AssertionError("read-only memory was written")
    library.c.synchronize_device(0)
    assert (x == 1).all()
    assert not np.from_dlpack(array).flags.writeable


def main():
    library = Library(sys.argv[1])
    for dtype in ["?", "u1", "i4", "i8", "f2", "f4", "f8"]:
        check_shared(library, dtype)
    check_strides(library)
    check_lifetimes(library)
    if is_versioned():
        check_read_only(library)
    print("NumPy", np.__version__, "shares arrays on the host: right")


main()
