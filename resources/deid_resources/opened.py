"""What is opened for a run and closed after it."""

from collections.abc import Callable, Iterator
from typing import Protocol

import dagster as dg


class Closable(Protocol):
    """What has connections, or nothing yet."""

    def close(self) -> None:
        """End what was started."""


def build_resource(open_it: Callable[[], Closable], *, description: str) -> dg.ResourceDefinition:
    """Return what opens something for a run and closes it after it.

    It takes no configuration: whoever reaches the web server writes the configuration of a run, and
    must not name other settings or another vault.
    """

    @dg.resource(config_schema={}, description=description)
    def opened(_context: dg.InitResourceContext) -> Iterator[Closable]:
        resource = open_it()
        try:
            yield resource
        finally:
            resource.close()

    return opened
