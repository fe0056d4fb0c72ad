"""``python -m deid_assets.quickstart``.

A worker process imports nothing of this, as it would of another main module.
"""

import atexit
import gc

from deid_assets.system.interrupts import watch_interrupts

watch_interrupts()

from deid_assets.quickstart.command import main  # noqa: E402 - starts threads

# What is imported stays as long as the process: the collector of cycles need not visit it over and
# over, nor all objects once more at the end.
gc.freeze()
gc.set_threshold(10_000, 20, 20)
atexit.register(gc.freeze)

raise SystemExit(main())
