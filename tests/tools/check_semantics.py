"""Fails when docs/semantics.md names a test that is not there, or has a rule without a test.

usage: check_semantics.py REFRAIN_TESTS
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cases import TESTS, Case, all_cases, shared_names

PAGE = TESTS.parent / "docs" / "semantics.md"
SOME_BUILDS = ("cuda_", "host_", "internal_", "library_")  # beginnings of the suites that not every build has


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    line: int
    cells: dict[str, str]  # by the column's title


def cells_of(line: str) -> list[str]:
    """The cells of a table's row; an escaped bar is no border."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def rows_of(text: str) -> list[Row]:
    """The rows of every table of the page."""
    rows = []
    titles: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("|"):
            titles = []
        elif not titles:
            titles = cells_of(line)
        elif not re.fullmatch(r"[|\s:-]+", line):
            rows.append(Row(number, dict(zip(titles, cells_of(line)))))
    return rows


def listed(binary: Path) -> set[str]:
    """The suite/case names that refrain_tests knows."""
    command = [str(binary), "--list_content", "--", "--device=host"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    names = set()
    above: list[str] = []
    for line in (done.stderr or done.stdout).splitlines():  # Boost.Test writes the list to stderr
        name = line.strip().rstrip("*")
        depth = (len(line) - len(line.lstrip())) // 4
        above = above[:depth] + [name]
        names.add("/".join(above))
    return names


def known_names(binary: Path, cases: list[Case]) -> set[str]:
    """The names of every case: as listed, and as written for the suites that some builds leave out."""
    names = listed(binary)
    left_out = (case for case in cases if case.suite.startswith(SOME_BUILDS) and case.suite not in names)
    return names | {case.path for case in left_out}


def missing_tests(text: str, names: set[str]) -> list[str]:
    """Complaints about tests that the page names anywhere and that are not there."""
    return [
        f"line {number}: there is no test {name}"
        for number, line in enumerate(text.splitlines(), start=1)
        for name in re.findall(r"`(\w+/\w+)`", line)
        if name not in names
    ]


def untested_rules(rows: list[Row]) -> list[str]:
    """Complaints about rules without a test, in tables that have a column for it."""
    return [
        f"line {row.line}: no test for: {next(iter(row.cells.values()))}"
        for row in rows
        if "test" in row.cells
        and not re.search(r"`\w+/\w+`", row.cells["test"])
        and "not yet" not in row.cells.get("answer", "")
    ]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = PAGE.read_text(encoding="utf-8")
    cases = all_cases()
    wrong = shared_names(cases)
    wrong += [f"docs/semantics.md, {each}" for each in missing_tests(text, known_names(Path(sys.argv[1]), cases))]
    wrong += [f"docs/semantics.md, {each}" for each in untested_rules(rows_of(text))]
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
