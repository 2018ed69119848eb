"""The process that fuzzes one format: ``python -m soak.fuzz FORMAT COUNTER [libFuzzer options]``.

atheris chooses inputs by the coverage of earlier ones. The first failure ends the process;
libFuzzer writes the input to a file. COUNTER is a file whose first eight bytes are the number of
inputs, up to date whenever the process ends.
"""

import importlib
import mmap
import struct
import sys

import atheris

# By name: a linter removes import statements whose names are not used, and without them nothing
# is instrumented and inputs are chosen blindly.
with atheris.instrument_imports(include=["pairmend.datasets"]):
    importlib.import_module("pairmend.datasets")

from soak.formats import check_bytes


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, counter, *options = sys.argv[1:]
    with open(counter, "r+b") as file:
        counts = mmap.mmap(file.fileno(), 8)
    n_inputs = 0

    def check(content: bytes) -> None:
        nonlocal n_inputs
        n_inputs += 1
        struct.pack_into("<q", counts, 0, n_inputs)
        check_bytes(name, content)

    atheris.Setup([sys.argv[0], *options], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
