"""Entry point of ``python -m pairmend``."""

import sys

from pairmend.cli import main

sys.exit(main())
