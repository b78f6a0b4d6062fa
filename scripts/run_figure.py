#!/usr/bin/env python3
"""Does what `granary figure` starts it for: scripts/figure/ has the code."""

import sys

if sys.version_info < (3, 11):
    print(f"granary figure: Python 3.11 or newer is needed, and '{sys.executable}' is none; PYTHON=... names another",
          file=sys.stderr)
    sys.exit(3)

from figure.main import main

sys.exit(main(sys.argv[1:]))
