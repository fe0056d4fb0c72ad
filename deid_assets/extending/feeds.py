"""Everything that a kind of feed is made of; docs/feeds.md shows how."""

from deid_assets.feeds.source import Found, Gone, NoteFeed, Unit, Watermark
from deid_assets.formats.annotated import Fault, ParsedNote

__all__ = ["Fault", "Found", "Gone", "NoteFeed", "ParsedNote", "Unit", "Watermark"]
