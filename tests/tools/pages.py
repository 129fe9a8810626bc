"""docs/conformance.md and docs/field-reports.md: from the items in tests/data, the labels of the tests and the results
in docs/results."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cases import TESTS, Case

DOCS = TESTS.parent / "docs"
RESULTS = DOCS / "results"
DEVICES = {"host": "host", "cuda": "CUDA"}
NONE = "–"

Item = dict[str, str | list[str]]
Section = dict[str, str | list[Item]]
Results = dict[str, str | dict[str, str]]  # date, name, and the result of each suite/case


@dataclass(frozen=True)
class Page:
    """One of the two pages."""

    file: Path
    items: Path
    label: str  # a test of item 7 bears the label `label`-7
    head: str
    upstream: Callable[[Section, Item], str]

    def sections(self) -> list[Section]:
        return json.loads(self.items.read_text(encoding="utf-8"))["sections"]

    def labels(self) -> list[str]:
        return [f"{self.label}-{item['number']}" for section in self.sections() for item in section["items"]]


def upstream_test(section: Section, item: Item) -> str:
    """The test that the behaviour was read from, as a link to its file."""
    repository, _, path = str(item.get("file", section["file"])).partition(":")
    return f"[`{item['test']}`](https://github.com/{repository}/blob/main/{path})"


def upstream_threads(_: Section, item: Item) -> str:
    """The threads that report it, as links."""
    links = (thread.partition("#") for thread in item["threads"])
    return ", ".join(f"[{name}#{number}](https://github.com/{name}/issues/{number})" for name, _, number in links)


PAGES = [
    Page(
        DOCS / "conformance.md",
        TESTS / "data" / "conformance.json",
        "conformance",
        """# Conformance

What the public tests of PyTorch, CuPy, Warp and cuda.core check of streams, events, graphs and their memory: each
behaviour in a line of our own, and the test here that checks it, with the label `conformance-<#>`. Where Refrain
answers differently, [semantics.md](semantics.md) says how.""",
        upstream_test,
    ),
    Page(
        DOCS / "field-reports.md",
        TESTS / "data" / "field_reports.json",
        "report",
        """# Field reports

What users of CUDA graphs, streams, events and small array libraries ran into, as public threads tell it: how Refrain
behaves there, in a line, and the test that checks it, with the label `report-<#>`.""",
        upstream_threads,
    ),
]

_LEGEND = """\
`./run conformance` runs the tests, records the results and writes this page. *Left out*: the machine lacks what
the test needs, a second device for instance. A dash: the test does not run on this device."""


def load_results(device: str) -> Results:
    """What was recorded for the device; empty when nothing was."""
    file = RESULTS / f"{device}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def result_of(case: Case, device: str, results: Results) -> str:
    """In a word, how the case went on the device."""
    only_on = case.suite.partition("_")[0]
    if only_on in DEVICES and only_on != device:
        return NONE
    return results.get("results", {}).get(case.path, "not run")


def result_cell(cases: list[Case], device: str, results: Results) -> str:
    """How the cases of one item went: one word if all went alike."""
    each = {result_of(case, device, results) for case in cases}
    return ", ".join(sorted(each - {NONE})) or NONE


def row_of(page: Page, section: Section, item: Item, cases: list[Case], results: dict[str, Results]) -> str:
    """The table's row for one item; its last cells are the results."""
    tests = "<br>".join(f"`{case.path}`" for case in cases)
    cells = [
        str(item["number"]),
        page.upstream(section, item),
        str(item["behaviour"]),
        tests or f"*{item.get('status', 'no test yet')}*",
        *(result_cell(cases, device, results[device]) for device in DEVICES),
    ]
    return f"| {' | '.join(cells)} |"


def labelled(page: Page, item: Item, cases: list[Case]) -> list[Case]:
    """The cases that bear the item's label."""
    return [case for case in cases if f"{page.label}-{item['number']}" in case.labels]


def tally(page: Page, cases: list[Case]) -> str:
    """How many items there are, apply, and have a test."""
    items = [item for section in page.sections() for item in section["items"]]
    applying = sum(item.get("applies") != NONE for item in items)
    tested = sum(bool(labelled(page, item, cases)) for item in items)
    return f"Of {len(items)} behaviours {applying} apply, and {tested} have a test."


def ran(device: str, results: Results) -> str:
    """When and where the tests ran."""
    where = f"{results['name']}, {results['date']}" if results else "not run"
    return f"- {DEVICES[device]}: {where}"


def write(page: Page, cases: list[Case], results: dict[str, Results]) -> str:
    """The text of the page."""
    lines = [page.head, "", _LEGEND, "", tally(page, cases), ""]
    lines += [ran(device, results[device]) for device in DEVICES]
    titles = ["#", "upstream", "behaviour", "test", *DEVICES.values()]
    for section in page.sections():
        lines += ["", f"## {section['title']}", "", f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
        lines += [
            row_of(page, section, item, labelled(page, item, cases), results) for item in section["items"]
        ]
    return "\n".join(lines) + "\n"


def without_results(text: str) -> list[str]:
    """The lines of a page, without what a run of the tests changes."""
    kept = [line for line in text.splitlines() if not re.match(r"- (host|CUDA): ", line)]
    return [line.rsplit("|", 3)[0] if line.startswith("|") else line for line in kept]
