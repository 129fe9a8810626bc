"""The test cases of tests/, as their sources tell them."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cpp import arguments

TESTS = Path(__file__).resolve().parent.parent

_SUITE = re.compile(r"BOOST_(?:AUTO|FIXTURE)_TEST_SUITE\(\s*(\w+)")
_CASE = re.compile(r"BOOST_(?:AUTO|FIXTURE)_TEST_CASE\(\s*(\w+)")
_MACRO = re.compile(r"^BOOST_(?:AUTO|FIXTURE)_TEST_(?:SUITE(?:_END)?|CASE)\(", re.MULTILINE)
_LABEL = re.compile(r'\blabel\(\s*"([^"]+)"\s*\)')


@dataclass(frozen=True)
class Case:
    """One BOOST_AUTO_TEST_CASE."""

    suite: str
    name: str
    labels: tuple[str, ...]
    file: Path

    @property
    def path(self) -> str:
        """As in --run_test."""
        return f"{self.suite}/{self.name}"


def sources() -> list[Path]:
    """Every file that may hold a suite."""
    return sorted(path for path in TESTS.rglob("*") if path.suffix in {".cpp", ".cu"} and "package" not in path.parts)


def cases_of(file: Path) -> list[Case]:
    """The cases of one file, in order."""
    text = file.read_text(encoding="utf-8")
    suites: list[str] = []
    found = []
    for macro in _MACRO.finditer(text):
        if suite := _SUITE.match(text, macro.start()):
            suites.append(suite.group(1))
        elif case := _CASE.match(text, macro.start()):
            inside = arguments(text, macro.end() - 1)
            found.append(Case("/".join(suites), case.group(1), tuple(_LABEL.findall(inside)), file))
        else:
            suites.pop()
    return found


def all_cases() -> list[Case]:
    """The cases of every suite, those of absent devices too."""
    return [case for file in sources() for case in cases_of(file)]


def shared_names(cases: list[Case]) -> list[str]:
    """Complaints about suites of several files and cases of one name."""
    files = {(case.suite, case.file) for case in cases}
    suites = Counter(suite for suite, _ in files)
    paths = Counter(case.path for case in cases)
    return [f"the suite {suite} is in {count} files" for suite, count in sorted(suites.items()) if count > 1] + [
        f"{path} names {count} cases" for path, count in sorted(paths.items()) if count > 1
    ]
