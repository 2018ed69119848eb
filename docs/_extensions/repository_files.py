"""Links of Markdown pages to files of the repository that are outside of docs/.

On a code host `../CHANGELOG.md` is a link to that file. On the site it is a link to a page: the
page `changelog` consists of one such link, and its text is replaced by that of the file. A link to
an example is one to its page in the gallery.
"""

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGES = {
    "CHANGELOG.md": "changelog",
    "CODE_OF_CONDUCT.md": "code_of_conduct",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
"""Pages of the site by the files of the repository that are their text."""

GALLERY = "../examples/gallery/"

# The target of a Markdown link or picture: a path, and perhaps an anchor.
_TARGET = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]+)?(?=\))")


def to_site(text: str, folder: Path, docs: Path) -> str:
    """Return a page with its links as they are on the site; `folder` is that of its file."""

    def target(match: re.Match[str]) -> str:
        path = Path(os.path.relpath(os.path.normpath(folder / match["path"]), docs)).as_posix()
        if path.startswith("../") and path[3:] in PAGES:
            path = f"{PAGES[path[3:]]}.md"
        elif path.startswith(GALLERY):
            path = f"auto_examples/{path.removeprefix(GALLERY).removesuffix('.py')}.rst"
        return path + (match["anchor"] or "")

    return _TARGET.sub(target, text)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Change the text of a Markdown page when it is read."""
    docs = Path(app.srcdir)
    if Path(app.env.doc2path(name)).suffix != ".md":
        return
    for file, page in PAGES.items():
        if page == name:
            app.env.note_dependency(str(docs.parent / file))
            path = docs.parent / file
            source[0] = to_site(path.read_text("utf-8"), path.parent, docs)
            return
    source[0] = to_site(source[0], docs, docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the reading of pages."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
