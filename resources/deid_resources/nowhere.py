"""The IO manager of every asset.

It stores nothing, since assets write through the store with its receipts.

Dagster's own pickles values into a folder that the configuration of a run may name.
"""

from typing import Any, NoReturn

import dagster as dg

from deid_assets.core.errors import DeidError


class Nowhere(dg.IOManager):
    """Refuses values, which may hold text."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> NoReturn:  # noqa: ARG002 - Dagster's signature
        """Refuse.

        Raises:
            DeidError: Always.
        """
        raise DeidError(
            "an asset returned a value; write it through the store and return a MaterializeResult"
        )

    def load_input(self, context: dg.InputContext) -> NoReturn:  # noqa: ARG002 - Dagster's signature
        """Refuse.

        Raises:
            DeidError: Always.
        """
        raise DeidError(
            "an asset asks for another's value; read it from the store, which checks its receipt"
        )


@dg.io_manager(config_schema={}, description="Stores nothing: assets write through the store.")
def nowhere(_context: dg.InitResourceContext) -> Nowhere:
    """Return it; it takes no configuration."""
    return Nowhere()
