"""The results of the tests that have labels, and the pages made of them.

  record   runs those tests, or reads a report of Boost.Test made elsewhere, and writes docs/results/DEVICE.json.
           Elsewhere: refrain_tests --report_level=detailed --report_format=XML --report_sink=FILE -- --device=cuda
  write    writes docs/conformance.md and docs/field-reports.md
  check    fails when those pages are out of date in anything but results, or a label is unknown
"""

import argparse
import datetime
import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

from cases import Case, all_cases
from pages import DEVICES, PAGES, RESULTS, load_results, without_results, write

NO_DEVICE = 77  # the exit status of refrain_tests without the device


def output_of(command: list[str]) -> str:
    """What the command prints; nothing when it is not there or fails."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def host_name() -> str:
    """The processor."""
    facts = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", facts.read_text(encoding="utf-8")) if facts.exists() else None
    return model.group(1) if model else "unknown processor"


def cuda_name() -> str:
    """The first GPU, its driver and the toolkit."""
    query = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    gpu, _, driver = (query.splitlines() or ["unknown GPU"])[0].partition(", ")
    toolkit = re.search(r"release ([\d.]+)", output_of(["nvcc", "--version"]))
    parts = [gpu, f"driver {driver}" if driver else "", f"CUDA {toolkit.group(1)}" if toolkit else ""]
    return ", ".join(part for part in parts if part)


def run_labelled(binary: Path, device: str, labels: set[str], report: Path) -> None:
    """Runs the tests that bear one of the labels, in one process."""
    command = [str(binary), *(f"--run_test=@{label}" for label in sorted(labels))]
    if device == "host":
        command.append("--run_test=!cuda_*")
    command += ["--report_level=detailed", "--report_format=XML", f"--report_sink={report}"]
    done = subprocess.run([*command, "--", f"--device={device}"], check=False)
    if done.returncode == NO_DEVICE:
        sys.exit(NO_DEVICE)


def outcome(case: xml.Element) -> str:
    """How a test case of the report went. One that asserted nothing found no device to do so with."""
    if case.get("result") == "skipped":
        return "not run"
    if case.get("result") != "passed":
        return "failed"
    return "passed" if case.get("assertions_passed") != "0" else "left out"


def outcomes(report: Path) -> dict[str, str]:
    """How each case of a report went, by suite/case."""
    root = xml.fromstring(report.read_text(encoding="utf-8"))
    master = root if root.tag == "TestSuite" else root.find("TestSuite")
    found: dict[str, str] = {}

    def visit(suite: xml.Element, above: str) -> None:
        for child in suite:
            path = above + child.get("name", "")
            if child.tag == "TestSuite":
                visit(child, path + "/")
            elif child.tag == "TestCase":
                found[path] = outcome(child)

    if master is not None:
        visit(master, "")
    return found


def record(options: argparse.Namespace, cases: list[Case]) -> int:
    """Writes docs/results/DEVICE.json; 1 when a test failed."""
    tagged = [case for case in cases if case.labels]
    with tempfile.TemporaryDirectory() as folder:
        report = options.report or Path(folder) / "report.xml"
        if options.report is None:
            run_labelled(options.binary, options.device, {label for case in tagged for label in case.labels}, report)
        found = outcomes(report)
    results = {case.path: found[case.path] for case in tagged if found.get(case.path, "not run") != "not run"}
    recorded = {
        "date": options.date,
        "name": options.name or (host_name() if options.device == "host" else cuda_name()),
        "results": dict(sorted(results.items())),
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(recorded, indent=1, ensure_ascii=False) + "\n"
    (RESULTS / f"{options.device}.json").write_text(text, encoding="utf-8")
    failed = [path for path, result in results.items() if result == "failed"]
    print(f"{options.device}: {len(results)} tests, {len(failed)} failed", *failed, sep="\n  ")
    return 1 if failed else 0


def texts(cases: list[Case]) -> list[str]:
    """What the pages are to be."""
    results = {device: load_results(device) for device in DEVICES}
    return [write(page, cases, results) for page in PAGES]


def write_pages(cases: list[Case]) -> int:
    for page, text in zip(PAGES, texts(cases)):
        page.file.write_text(text, encoding="utf-8")
    return 0


def unknown_labels(cases: list[Case]) -> list[str]:
    """Complaints about labels that no item has, but for what `./run sanitize` picks."""
    known = {label for page in PAGES for label in page.labels()} | {"sanitize", "pending"}
    return [
        f"{case.path}: no item has the label {label}"
        for case in cases
        for label in case.labels
        if label not in known
    ]


def check(cases: list[Case]) -> int:
    """1, and what is wrong, when the pages do not go with items and tests."""
    wrong = unknown_labels(cases)
    for page, text in zip(PAGES, texts(cases)):
        there = page.file.read_text(encoding="utf-8") if page.file.exists() else ""
        difference = difflib.unified_diff(
            without_results(there), without_results(text), str(page.file), "as it should be", lineterm="", n=0
        )
        wrong += difference
    for each in wrong:
        print(each)
    if wrong:
        print("tests/tools/results.py write brings the pages up to date")
    return 1 if wrong else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("--device", choices=list(DEVICES), default="host")
    source = recording.add_mutually_exclusive_group(required=True)
    source.add_argument("--binary", type=Path, help="refrain_tests")
    source.add_argument("--report", type=Path, help="a detailed XML report of Boost.Test")
    recording.add_argument("--name", help="the device, its driver and toolkit; found out if left out")
    recording.add_argument("--date", default=datetime.date.today().isoformat())
    verbs.add_parser("write")
    verbs.add_parser("check")
    return parser.parse_args()


def main() -> int:
    options = parse()
    cases = all_cases()
    if options.verb == "record":
        return record(options, cases)
    return write_pages(cases) if options.verb == "write" else check(cases)


if __name__ == "__main__":
    sys.exit(main())
