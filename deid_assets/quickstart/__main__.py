"""``python -m deid_assets.quickstart``.

A worker process imports nothing of this, as it would of another main module.
"""

from deid_assets.system.interrupts import watch_interrupts

watch_interrupts()

from deid_assets.quickstart.command import main  # noqa: E402 - starts threads

raise SystemExit(main())
