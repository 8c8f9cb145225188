"""The command line: `python -m fwl`, and the program `fwl` of an installed wheel."""

import os
import sys

from fwl import _C


def main():
    os.environ.setdefault("FWL_PYTHON", sys.executable)  # with which fwl get downloads packages
    sys.exit(_C.run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
