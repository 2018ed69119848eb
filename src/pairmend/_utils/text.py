"""Names and counts as they stand in a sentence."""

import unicodedata
from collections.abc import Iterable


def listed(names: Iterable[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> listed(["LPW", "FCM", "FCM-O"])
    'LPW, FCM and FCM-O'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def counted(number: int, thing: str, several: str = "") -> str:
    """Say how many there are.

    Examples
    --------
    >>> counted(1, "set"), counted(2, "criterion", "criteria")
    ('1 set', '2 criteria')
    """
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"


def one_line(name: str) -> str:
    r"""Replace what would break a line of a page, or act on a terminal, by spaces.

    Parameters
    ----------
    name : str
        Any text.

    Returns
    -------
    str
        Without control and format characters, and with single spaces.

    Examples
    --------
    >>> one_line("the \n blue\tsea")
    'the blue sea'
    """
    separators = ("C", "Z")  # Unicode's classes of control characters and of separators
    return " ".join(
        "".join(" " if unicodedata.category(c).startswith(separators) else c for c in name).split()
    )
