"""Becomes the program `purser` that the package for this platform carries."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "programs" / "purser"
    if not program.is_file():
        sys.exit("purser-pay: this package has the SDK alone. There are programs for Linux on x86-64; elsewhere they are built from source.")
    os.execv(program, [str(program), *sys.argv[1:]])
