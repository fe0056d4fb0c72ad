"""Everything that a kind of feed is made of; docs/feeds.md shows how."""

from deid_assets.feeds.source import Feed, Found, Gone, Mark, Unit
from deid_assets.formats.annotated import Fault, ParsedNote

__all__ = ["Fault", "Feed", "Found", "Gone", "Mark", "ParsedNote", "Unit"]
