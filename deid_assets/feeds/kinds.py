"""A feed by its name in the settings, of a kind of our own or of a plugin."""

from __future__ import annotations

from pathlib import Path

from deid_assets.config import Settings
from deid_assets.config.feeds import FeedSettings, ObjectsOptions, SqlOptions
from deid_assets.core.errors import ConfigError, DeidError, InputError, PluginError, did_you_mean
from deid_assets.feeds.source import NoteFeed
from deid_assets.formats.options import ReadOptions
from deid_assets.intake.reader import landing_store
from deid_assets.intake.reading import how_to_read
from deid_assets.own_plugins import message_of
from deid_assets.plugins import load_feed as load_plugin


def feed_settings(settings: Settings, name: str) -> FeedSettings:
    """Return what the settings say of a feed.

    Raises:
        InputError: There is no feed of that name.
    """
    if name in settings.feeds:
        return settings.feeds[name]
    known = ", ".join(settings.feeds) or "none; see docs/feeds.md"
    raise InputError(
        f"there is no feed {name!r}{did_you_mean(name, settings.feeds)}; the settings have {known}"
    )


def open_feed(settings: Settings, name: str) -> NoteFeed:
    """Return a feed.

    Raises:
        ConfigError: An option is wrong.
        InputError: There is no feed of that name.
        PluginError: Its plugin cannot be used.
    """
    declared = feed_settings(settings, name)
    try:
        return _open(settings, name, declared)
    except PluginError:
        raise
    except DeidError as error:
        raise ConfigError(f"feed {name}: {message_of(error) or 'cannot be opened'}") from None


def feeds_folder(settings: Settings) -> Path:
    """Return the restricted folder in which feeds are read and their batches are made."""
    return landing_store(settings) / ".feeds"


def _open(settings: Settings, name: str, declared: FeedSettings) -> NoteFeed:
    if declared.kind == "sql":
        from deid_assets.feeds.sql import SqlFeed  # noqa: PLC0415 - SQLAlchemy takes 0.2 s

        limit = _reading(settings, {}).max_note_chars
        return SqlFeed(SqlOptions.model_validate(declared.options), max_chars=limit)
    if declared.kind == "objects":
        from deid_assets.feeds.objects import ObjectsFeed  # noqa: PLC0415 - fsspec is optional

        options = ObjectsOptions.model_validate(declared.options)
        reading = _reading(settings, {"read": options.read, "format": options.format})
        if not options.format:
            options = options.model_copy(update={"format": settings.intake.format})
        folder = feeds_folder(settings) / name / "files"
        return ObjectsFeed(options, reading=reading, folder=folder)
    feed = load_plugin(declared.kind, declared.options)
    if not isinstance(feed, NoteFeed):
        raise PluginError(f"feed {name}: what plugin {declared.kind!r} gives is no feed")
    return feed


def _reading(settings: Settings, own: dict[str, object]) -> ReadOptions:
    return how_to_read(settings, {key: value for key, value in own.items() if value}).options
