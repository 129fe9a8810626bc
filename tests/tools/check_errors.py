"""Fails when an error of src/ or include/ has no line in tests/data/errors.txt, or a line is not of the form of errors.

The lines are written by the suites *error_texts*: REFRAIN_UPDATE_ERRORS=1 refrain_tests --run_test='*error_texts*'
and by REFRAIN_UPDATE_ERRORS=1 refrain_library_tests --run_test='library_error_texts*'
"""

import ast
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from cases import TESTS, cases_of
from cpp import CHARACTER, STRING, arguments, without_comments

ROOT = TESTS.parent
LINES = TESTS / "data" / "errors.txt"

# Errors that no case can provoke: (file, part of the text, why).
EXEMPT = [
    ("src/cuda/check.cpp", "cuda", "the texts are CUDA's own, and a program that Refrain lets through provokes none"),
    ("src/cuda/blas.cpp", "cublasLt", "the texts are cuBLASLt's own, and it is asked for what it can do only"),
    ("src/cuda/nvrtc.cpp", "nvrtc", "the texts are NVRTC's own, and Refrain's kernels compile"),
    ("src/cuda/foreign.cpp", "bind arrays that lie as those", "is a guard: equal shapes have one algorithm"),
    ("src/cuda/stream.cpp", "is captured by other code, and before", "is thrown below the calls that know their place"),
    ("src/cuda/no_cuda.cpp", "; use a host device", "is not reached: a device that is not there is refused before"),
    ("src/cuda/process_end.cpp", "is ending in another thread", "is thrown while the process ends"),
    ("src/host/memory.cpp", "the system has no ", "src/runtime/ledger.cpp catches it and tells it with more"),
    ("src/graph/graph.cpp", "under REFRAIN_EXECUTION=eager", "the environment is read once, at first use"),
    ("src/runtime/debugging.cpp", "; give eager or graph", "the environment is read once, at first use"),
    ("src/runtime/device.cpp", "; give a number from ", "the environment is read once, at first use"),
    ("src/runtime/submit.cpp", "of a capture that ended meanwhile", "takes two threads and the right moment"),
    ("src/graph/recording_events.cpp", "recorded by another thread while", "takes two threads and the right moment"),
    ("src/graph/exec_pass.cpp", "joined a capture while", "takes two threads and the right moment"),
]

_CONSTRUCTION = re.compile(r"throw\s+Error\(|(?<!throw )\bError\((?=\s*Errc::)")
_LITERALS = re.compile(rf"{CHARACTER}|({STRING}(?:\s*{STRING})*)")
_EITHER = re.compile(rf"\?\s*({STRING})\s*:\s*({STRING})")
_FORM = re.compile(r"\[[\w:]+\] \S.*?: (?P<reason>.*) \(\w+\), at FILE:LINE")


@dataclass(frozen=True)
class Site:
    """A place in the library that makes an error, with one of the texts that it may have."""

    file: str
    line: int
    code: str
    literals: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """What its texts look like."""
        code = rf".*\({self.code}\)" if self.code else ""
        return ".*".join(re.escape(literal) for literal in self.literals) + code


def literals_of(text: str) -> tuple[str, ...]:
    """The string literals in order, neighbours joined."""
    return tuple(ast.literal_eval(f"({each})") for each in _LITERALS.findall(text) if each)


def variants(text: str) -> list[str]:
    """The text with the one and with the other literal of a conditional."""
    either = _EITHER.search(text)
    if either is None:
        return [text]
    return [
        each
        for choice in either.groups()
        for each in variants(text[: either.start()] + choice + text[either.end() :])
    ]


def sites_of(file: Path) -> list[Site]:
    """The errors that a file makes."""
    text = without_comments(file.read_text(encoding="utf-8"))
    sites = []
    for construction in _CONSTRUCTION.finditer(text):
        line = text.count("\n", 0, construction.start()) + 1
        for variant in variants(arguments(text, construction.end() - 1)):
            code = re.match(r"\s*Errc::(\w+)", variant)
            name = str(file.relative_to(ROOT))
            sites.append(Site(name, line, code.group(1) if code else "", literals_of(variant)))
    return sites


def all_sites() -> list[Site]:
    """The errors that the library makes."""
    files = [file for folder in ("include", "src") for file in sorted((ROOT / folder).rglob("*.[ch]*"))]
    return [site for file in files for site in sites_of(file)]


def unprovoked(sites: list[Site], texts: list[str]) -> list[str]:
    """Complaints about errors without a line; errors of one text need a line each."""
    alike: dict[str, list[Site]] = defaultdict(list)
    for site in sites:
        exempt = any(site.file == file and part in "".join(site.literals) for file, part, _ in EXEMPT)
        if not exempt:
            alike[site.pattern].append(site)
    wrong = []
    for pattern, group in alike.items():
        lines = sum(re.search(pattern, text) is not None for text in texts)
        wrong += [f"{site.file}:{site.line}: no line in errors.txt has this text" for site in group[lines:]]
    return wrong


def idle_exemptions(sites: list[Site]) -> list[str]:
    """Complaints about exemptions that match nothing."""
    return [
        f"check_errors.py: nothing in {file} has the exempt text: {part}"
        for file, part, _ in EXEMPT
        if not any(site.file == file and part in "".join(site.literals) for site in sites)
    ]


def malformed(key: str, text: str) -> list[str]:
    """Complaints about one line of errors.txt."""
    form = _FORM.fullmatch(text)
    if form is None:
        return [f"errors.txt, {key}: not of the form [call] object: reason (code), at FILE:LINE: {text}"]
    if not re.search(r"; \w[^;]* \S", form["reason"]):
        return [f"errors.txt, {key}: no remedy after a semicolon: {text}"]
    return []


def wrong_keys(keys: list[str]) -> list[str]:
    """Complaints about the order of the lines, and about lines and cases without each other."""
    cases = {case.name for file in TESTS.rglob("error_texts*.c*") for case in cases_of(file)}
    wrong = [f"errors.txt, {key}: there is no such case" for key in keys if key not in cases]
    wrong += [f"errors.txt: there is no line for the case {case}" for case in sorted(cases.difference(keys))]
    if keys != sorted(set(keys)):
        wrong.append("errors.txt: the lines are not sorted, or share a key")
    return wrong


def main() -> int:
    lines = [line.partition(": ") for line in LINES.read_text(encoding="utf-8").splitlines()]
    sites = all_sites()
    wrong = wrong_keys([key for key, _, _ in lines])
    wrong += [each for key, _, text in lines for each in malformed(key, text)]
    wrong += unprovoked(sites, [text for _, _, text in lines])
    wrong += idle_exemptions(sites)
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
