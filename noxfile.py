#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""Sessions of nox: they call targets of the Makefile, the tests with several versions of Python.

``nox`` runs all of them, ``nox -s 'tests(3.12)'`` the tests with one version, in an environment of
their own.
"""

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "none"

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and spelling."""
    session.run("make", "lint", external=True)


@nox.session
@nox.parametrize("version", VERSIONS, ids=VERSIONS)
def tests(session: nox.Session, version: str) -> None:
    """Run the tests; ``nox -s 'tests(3.12)' -- tests/kernels`` runs some of them."""
    chosen = [f"TESTS={' '.join(session.posargs)}"] if session.posargs else []
    variables = [f"PYTHON=python{version}", f"VENV=.venv-{version}"]
    session.run("make", "pytest", *variables, *chosen, external=True)


if __name__ == "__main__":
    nox.main()
