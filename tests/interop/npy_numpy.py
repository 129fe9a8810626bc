"""Files of numpy.save read by Refrain, and files of Refrain read by numpy.load.

    npy_numpy.py <the library>

Exits with 77 where there is no NumPy.
"""

import io
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("NumPy is not here")
    sys.exit(77)

from interchange import Library

DTYPES = ["?", "u1", "i4", "i8", "f2", "f4", "f8"]
SHAPES = [(), (1,), (7,), (0,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 2, 1, 2, 1, 2, 1, 2)]


def arrays():
    numbers = np.random.default_rng(0)
    for name in DTYPES:
        for order in "<>":
            dtype = np.dtype(name).newbyteorder(order)
            for shape in SHAPES:
                x = numbers.integers(0, 100, shape).astype(dtype)
                yield x
                yield np.asfortranarray(x)
                yield x.T
    yield np.array([np.nan, np.inf, -np.inf, -0.0, 1e-310])


def main():
    library = Library(sys.argv[1])
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        source, copy = Path(folder) / "source.npy", Path(folder) / "copy.npy"
        for x in arrays():
            for version in [(1, 0), (2, 0), (3, 0)]:
                with open(source, "wb") as file:
                    np.lib.format.write_array(file, x, version=version)
                assert library.c.copy_npy(bytes(source), bytes(copy)), f"{x.dtype} {x.shape} {version}"
                y = np.load(copy, allow_pickle=False)
                assert y.dtype == x.dtype.newbyteorder("="), f"{y.dtype} of {x.dtype}"
                assert y.shape == x.shape and y.tobytes() == x.astype(y.dtype).tobytes(), f"{x.dtype} {x.shape}"
                count += 1
            if x.dtype.isnative and x.flags.c_contiguous:
                file = io.BytesIO()
                np.save(file, y)
                assert copy.read_bytes() == file.getvalue(), "the file is not the one that NumPy writes"
        for x in [np.zeros(3, "c8"), np.zeros(3, "i2"), np.zeros(3, "U3"), np.zeros(3, [("a", "f4")]), np.array([{}])]:
            np.save(source, x, allow_pickle=True)
            assert not library.c.copy_npy(bytes(source), bytes(copy)), f"{x.dtype} is not refused"
    print("NumPy", np.__version__, "wrote and read", count, "files")


main()
