"""Compilation of LaTeX tables, and the widths by which they exceed the text."""

import re
import shutil
import subprocess

import pytest

HEAD = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{array,booktabs,graphicx,longtable}
\begin{document}
"""


def overfull(tables, folder):
    """Compile tables by name; return by how many points each exceeds the text width."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-recommended")
    parts = [f"\\typeout{{table: {name}}}\n{text}\n\\clearpage\n" for name, text in tables.items()]
    (folder / "tables.tex").write_text(
        HEAD + "".join(parts) + "\\end{document}\n", encoding="utf-8"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=120, check=False,
        env={"max_print_line": "1000", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    found, name = {}, ""
    for line in done.stdout.splitlines():
        if line.startswith("table: "):
            name = line.removeprefix("table: ")
        if too_wide := re.search(r"Overfull \\hbox \(([\d.]+)pt too wide\)", line):
            found[name] = max(found.get(name, 0.0), float(too_wide[1]))
    return found
