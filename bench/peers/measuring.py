"""What the scripts of this folder share: the command line, the clock and the form of what they print.

Each prints one JSON object a line: a row, {"missing": why there are none}, or {"skipped": why there is not this one}.
refrain-bench reads them, and compares the results that rows name with its own.
"""

import argparse
import faulthandler
import json
import math
import signal
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

# As refrain-bench measures its own rows (measure.cpp).
MIN_REPETITIONS = 3
MAX_REPETITIONS = 20_000
MAX_BATCHES = 100
BATCH_SECONDS = 0.02
MAX_BATCH = 1000
WARM_UP_SHARE, SINGLE_SHARE, BATCH_SHARE = 0.1, 0.5, 0.4

MOST_COMPARED = 1 << 20
OWN_NUMBERS = "own random numbers: mean and spread compared"


@dataclass
class Program:
    """A workload made ready, compiled and warm."""

    issue: Callable[[], object]  # starts one step; may return before it has run
    synchronize: Callable[[], object]  # waits for all steps issued
    first_results: Callable[[], Iterable]  # of a step from the very beginning, as NumPy arrays
    note: str = ""  # the arithmetic
    has_own_numbers: bool = False  # it draws other random numbers than Refrain
    memory: tuple[int, int] | None = None  # bytes of a graph's temporaries and results: set aside, and at once in use


# Mode, and what makes the program.
Maker = tuple[str, Callable[[], Program]]


class TooLong(Exception):
    """A row took more than its time."""


def open_until(deadline: float, least: int, most: int, repeat: int, done: int) -> bool:
    if repeat:
        return done < repeat
    return done < least or (done < most and time.perf_counter() < deadline)


def timing(program: Program, budget: float, repeat: int) -> dict:
    """Microseconds a step, medians."""

    def once() -> float:
        start = time.perf_counter()
        program.issue()
        program.synchronize()
        return time.perf_counter() - start

    shortest = once()
    deadline = time.perf_counter() + budget * WARM_UP_SHARE
    while time.perf_counter() < deadline:
        shortest = min(shortest, once())

    least = MIN_REPETITIONS if shortest < budget else 1  # steps of seconds
    host, total = [], []
    deadline = time.perf_counter() + budget * SINGLE_SHARE
    while open_until(deadline, least, MAX_REPETITIONS, repeat, len(total)):
        start = time.perf_counter()
        program.issue()
        issued = time.perf_counter()
        program.synchronize()
        host.append(issued - start)
        total.append(time.perf_counter() - start)

    batch = min(max(math.ceil(BATCH_SECONDS / shortest), 2), MAX_BATCH)
    if repeat:
        batch = min(batch, repeat)
    back_to_back = []
    deadline = time.perf_counter() + budget * BATCH_SHARE
    while open_until(deadline, least, MAX_BATCHES, MIN_REPETITIONS if repeat else 0, len(back_to_back)):
        start = time.perf_counter()
        for _ in range(batch):
            program.issue()
        program.synchronize()
        back_to_back.append((time.perf_counter() - start) / batch)

    return {
        "host_us": statistics.median(host) * 1e6,
        "total_us": statistics.median(total) * 1e6,
        "back_to_back_us": statistics.median(back_to_back) * 1e6,
        "repetitions": len(total),
    }


def write_results(path: Path, results: Iterable) -> None:
    """The number of arrays, then size, stride and every stride-th element of each as float64; of small ones all."""
    arrays = [array.reshape(-1) for array in results]
    with path.open("wb") as file:
        file.write(struct.pack("<q", len(arrays)))
        for array in arrays:
            stride = array.size // MOST_COMPARED | 1
            file.write(struct.pack("<qq", array.size, stride))
            file.write(array[::stride].astype("<f8").tobytes())


def measure(workload: str, mode: str, make: Callable[[], Program], options: argparse.Namespace) -> None:
    """Prints a row, or why there is none."""

    was_too_long = False

    def give_up(*_) -> None:
        nonlocal was_too_long
        was_too_long = True
        raise TooLong

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, options.limit)
    faulthandler.dump_traceback_later(options.limit * 2 + 60, exit=True)  # where no exception gets through
    try:
        program = make()
        row = {"workload": workload, "mode": mode, "note": program.note}
        if program.has_own_numbers:
            row["note"] += f"; {OWN_NUMBERS}"
        row["own_numbers"] = int(program.has_own_numbers)
        if program.memory:
            row["memory_bytes"], row["memory_in_use_bytes"] = program.memory
        if options.results:
            path = Path(options.results) / f"{workload}.{mode}"
            write_results(path, program.first_results())
            row["results"] = str(path)
        row.update(timing(program, options.budget, options.repeat))
        print(json.dumps(row), flush=True)
    except Exception as error:  # whatever a library throws concerns its row alone, and it may have wrapped TooLong
        first = (str(error).splitlines() or [""])[0].replace('"', "'")[:200]
        why = f"not ready within {options.limit:g} s" if was_too_long else f"{type(error).__name__}: {first}"
        print(json.dumps({"skipped": f"{workload} {mode}: {why}"}), flush=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def run(name: str, makers: Callable[[str], dict[str, list[Maker]]]) -> None:
    """`makers`: of a device's kind, the makers of each workload; raises ImportError when something is not installed."""
    parser = argparse.ArgumentParser(description=f"Times {name} on the workloads of refrain-bench that it can do.")
    parser.add_argument("--device", choices=("host", "cuda"), default="host")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each row's timing")
    parser.add_argument("--repeat", type=int, default=0, help="repetitions in place of the budget")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a row, compilation included")
    parser.add_argument("--workload", action="append", help="only this one; may be given several times")
    parser.add_argument("--results", help="a folder for the results of a first step")
    options = parser.parse_args()
    try:
        all_makers = makers(options.device)
    except ImportError as error:
        package = error.name or str(error)
        print(json.dumps({"missing": f"{package} is not installed for {sys.executable}"}))
        return
    except RuntimeError as error:
        print(json.dumps({"missing": (str(error).splitlines() or ["?"])[0].replace('"', "'")}))
        return
    chosen = {key: all_makers[key] for key in all_makers if not options.workload or key in options.workload}
    if not chosen:
        print(json.dumps({"missing": "these workloads have no counterpart there"}))
    for workload, list_of_makers in chosen.items():
        for mode, make in list_of_makers:
            measure(workload, mode, make, options)
