"""Keeps the table of elementwise ops in docs/arrays.md equal to kernels/elementwise_table.hpp.

op_table.py write    writes it
op_table.py check    fails when it is not up to date
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "kernels" / "elementwise_table.hpp"
PAGE = ROOT / "docs" / "arrays.md"
BEGIN = "<!-- the rows below are written by tests/tools/op_table.py -->\n"
END = "<!-- the rows above are written by tests/tools/op_table.py -->\n"

DOMAINS = {
    "numbers": "numbers",
    "floats": "floats",
    "bits": "integers, bool",
    "logic": "bool",
    "all": "all",
}
ROW = re.compile(r"^REFRAIN_(UNARY|BINARY|TERNARY)\((\w+),\s*(\w+),\s*(\w+),\s*(.+)\)$")


def rows():
    for line in TABLE.read_text().splitlines():
        found = ROW.match(line)
        if found is None:
            continue
        arity, name, domain, result, expression = found.groups()
        operands = {"UNARY": "a", "BINARY": "a, b", "TERNARY": "a, b, c"}[arity]
        gives = "bool" if result == "truth" else "the same"
        shown = expression.replace("math::", "").replace("decltype(a)(0)", "0").replace("|", "\\|")
        yield f"| `{name}({operands})` | {DOMAINS[domain]} | {gives} | `{shown}` |\n"


def main():
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    header = "| op | computes in | gives | value |\n|---|---|---|---|\n"
    wanted = head + BEGIN + header + "".join(rows()) + END + tail
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(wanted)
    elif wanted != page:
        sys.exit("docs/arrays.md differs from kernels/elementwise_table.hpp; tests/tools/op_table.py write brings it up to date")


if __name__ == "__main__":
    main()
