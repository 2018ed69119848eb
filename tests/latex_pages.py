"""Compilation of LaTeX tables."""

import shutil
import subprocess

import pytest

HEAD = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,longtable}
\begin{document}
"""


def compile_tables(tables, folder):
    """Compile tables by name; skip where LaTeX is not installed."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-recommended")
    text = HEAD + "\\clearpage\n".join(tables.values()) + "\\end{document}\n"
    (folder / "tables.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
