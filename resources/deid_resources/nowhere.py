"""The IO manager of every asset.

It stores nothing, since assets write through the store with its receipts.

Dagster's own pickles values into a folder that the configuration of a run may name.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import dagster as dg


class Nowhere(dg.IOManager):
    """Refuses values, which may hold text.

    Args:
        refusal: Makes the error of a message.
    """

    def __init__(self, refusal: Callable[[str], Exception]) -> None:
        self._refusal = refusal

    def handle_output(self, context: dg.OutputContext, obj: Any) -> NoReturn:  # noqa: ARG002 - Dagster's signature
        """Refuse.

        Raises:
            Exception: Always, as ``refusal`` makes it.
        """
        raise self._refusal(
            "an asset returned a value; write it through the store and return a MaterializeResult"
        )

    def load_input(self, context: dg.InputContext) -> NoReturn:  # noqa: ARG002 - Dagster's signature
        """Refuse.

        Raises:
            Exception: Always, as ``refusal`` makes it.
        """
        raise self._refusal(
            "an asset asks for another's value; read it from the store, which checks its receipt"
        )


def nowhere(refusal: Callable[[str], Exception]) -> dg.IOManagerDefinition:
    """Return the manager, which takes no configuration; ``refusal`` makes the error of
    a message.
    """

    @dg.io_manager(config_schema={}, description="Stores nothing: assets write through the store.")
    def manager(_context: dg.InitResourceContext) -> Nowhere:
        return Nowhere(refusal)

    return manager
