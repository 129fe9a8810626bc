"""What the checks need of C++ text."""

import re

STRING = r'"(?:\\.|[^"\\])*"'
CHARACTER = r"'(?:\\.|[^'\\])'"
_COMMENT = re.compile(rf"{STRING}|{CHARACTER}|//[^\n]*")
_PARENTHESIS = re.compile(rf"{STRING}|{CHARACTER}|[()]")


def without_comments(text: str) -> str:
    """The text without `//` comments; its lines keep their numbers."""
    return _COMMENT.sub(lambda token: "" if token.group().startswith("//") else token.group(), text)


def arguments(text: str, opening: int) -> str:
    """What stands in the parentheses that begin at `opening`."""
    depth = 0
    for token in _PARENTHESIS.finditer(text, opening):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            return text[opening + 1 : token.start()]
    raise ValueError("a parenthesis does not close")
