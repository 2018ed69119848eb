"""HTML pages and notebook cells in one style: templates with escaping, script, security policy."""

import base64
import hashlib
import html
from importlib import resources
from typing import Any

from pairmend._utils.optional import require

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body data-pairmend>
{body}
<script>{script}</script>
</body>
</html>
"""

CELL = """\
<div class="pairmend" data-pairmend>
<style>{style}</style>
{body}
<script>{script}</script>
</div>
"""

# Notebooks choose their colours by a theme, not by the setting of the system.
CELL_STYLE = """
  color-scheme: light dark; background: var(--page); color: var(--ink);
  font: 0.9rem/1.5 var(--sans); padding: 0.75rem 1rem; white-space: normal; text-align: left;
  [data-jp-theme-light="true"] &, body.vscode-light & { color-scheme: light; }
  [data-jp-theme-light="false"] &, body.vscode-dark & { color-scheme: dark; }
"""


def page(title: str, body: str, *, style: str = "") -> str:
    """Return a page in one file: `body` is HTML, `title` text, `style` further rules.

    The security policy allows the page's own style and script, by their hashes, images in the page
    itself, and nothing else: no network, and no script in names of the data.
    """
    style, script = f"{_read('style.css')}\n{style}\n", _read("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return PAGE.format(
        policy=policy, title=html.escape(title), style=style, script=script, body=body
    )


def cell(body: str, *, style: str = "") -> str:
    """Return the same as an output of a notebook: its rules apply to this output only."""
    rules = f"{_read('style.css')}\n{style}\n".replace(":root", "&")
    scoped = f".pairmend {{\n{rules}\n{CELL_STYLE}}}"
    return CELL.format(style=scoped, script=_read("page.js"), body=body)


def environment(package: str, purpose: str) -> Any:
    """Return a jinja2 environment for the templates of a package, which escapes all values."""
    require(purpose, "jinja2")
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _read(name: str) -> str:
    return (resources.files("pairmend._utils.pages") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
