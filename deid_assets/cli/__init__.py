"""The ``deid`` command: everything the graph does, from a shell and without Dagster.

Exit codes: 0 all done; 1 done, but notes were withheld, each named on standard error, or an audit
did not pass; 2 bad input, one line on standard error, nothing written; 3 a fault of the program.

Each module enters its commands in ``app`` when it is imported, which is when one of them is asked
for; ``tasks.py`` says which module has which. The folders are the tasks.
"""

import gc

from deid_assets.cli.app import app

__all__ = ["app"]

# commands make many objects and hardly a cycle; looking for them took a tenth of the time
gc.set_threshold(100_000)
