"""Whether the databases of an installation can be reached, and how."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from sqlalchemy import text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.operation.findings import Condition, Finding
from deid_assets.operation.machine import CLOCK_S
from deid_assets.store.database import Database

VARIABLE = "DEID_DATABASE_URL"
_SECURE = ("require", "verify-ca", "verify-full")
_SSLMODE = "sslmode"
_LIBPQ = {
    "application_name": "PGAPPNAME",
    "channel_binding": "PGCHANNELBINDING",
    "client_encoding": "PGCLIENTENCODING",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "gssencmode": "PGGSSENCMODE",
    "host": "PGHOST",
    "krbsrvname": "PGKRBSRVNAME",
    "load_balance_hosts": "PGLOADBALANCEHOSTS",
    "options": "PGOPTIONS",
    "passfile": "PGPASSFILE",
    "port": "PGPORT",
    "require_auth": "PGREQUIREAUTH",
    "requirepeer": "PGREQUIREPEER",
    "service": "PGSERVICE",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "sslcert": "PGSSLCERT",
    "sslcertmode": "PGSSLCERTMODE",
    "sslcrl": "PGSSLCRL",
    "sslcrldir": "PGSSLCRLDIR",
    "sslkey": "PGSSLKEY",
    _SSLMODE: "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslsni": "PGSSLSNI",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
"""Parameters of a connection, to the environment variables that PostgreSQL's library reads."""


def is_postgres(url: str) -> bool:
    """Whether a URL names a PostgreSQL database; one that cannot be read does not."""
    try:
        return make_url(url).get_backend_name() == "postgresql"
    except ArgumentError:
        return False


def database_variables(url: str) -> Mapping[str, str]:
    """Return the environment that names a PostgreSQL database, with the driver that Dagster's
    statements are written for.

    SQLAlchemy's own choice, psycopg 3, refuses some; the store takes its own whatever is named. No
    value has an ``&``, at which a shell ends it: one parameter stays in the URL, the others are in
    variables of PostgreSQL's own library.

    Raises:
        InputError: A parameter of the URL has no such variable.
    """
    given = make_url(url)
    kept = _SSLMODE if _SSLMODE in given.query else next(iter(given.query), "")
    variables: dict[str, str] = {}
    for name, value in given.query.items():
        if name == kept:
            continue
        if name not in _LIBPQ or not isinstance(value, str):
            raise InputError(
                f"{VARIABLE}: parameter {name!r} of the URL cannot be set beside another one, since"
                " a shell ends a value at &; set it in a connection service file of PostgreSQL, or"
                " once"
            )
        variables[_LIBPQ[name]] = value
    named = given.set(drivername="postgresql+psycopg2", query={})
    if kept:
        named = named.set(query={kept: given.query[kept]})
    written = named.render_as_string(hide_password=False)
    # Blanks of a password are written as they are; a shell puts a home where a tilde stands.
    return {VARIABLE: written.replace(" ", "%20").replace("~", "%7E"), **variables}


def database_findings(settings: Settings) -> Iterator[Finding]:
    """Yield how the text-free store's database and Dagster's are; the store's is asked its time."""
    if not settings.database_url:
        yield Finding("database", Condition.OK, "SQLite in the home, for one machine")
        return
    try:
        database = Database(settings.database_url)
    except ConfigError as error:
        yield Finding("database", Condition.BROKEN, str(error))
        return
    if not is_postgres(settings.database_url):
        yield Finding("database", Condition.OK, "SQLite, for one machine")
        return
    yield _answer(database)
    yield from _encryption(make_url(settings.database_url))
    yield _of_dagster()


def _answer(database: Database) -> Finding:
    try:
        with database.engine.connect() as connection:
            now = connection.execute(
                text("SELECT EXTRACT(EPOCH FROM clock_timestamp())")
            ).scalar_one()
        apart = float(now) - time.time()
        release = ".".join(map(str, database.engine.dialect.server_version_info or ()))
    except SQLAlchemyError as error:
        return Finding(
            "database",
            Condition.BROKEN,
            f"{database!r} does not answer ({type(error).__name__}); see that the server runs, that"
            " this machine may connect, and that user and password in the URL are right",
        )
    finally:
        database.close()
    if abs(apart) > CLOCK_S:
        return Finding(
            "database",
            Condition.DOUBTFUL,
            f"its clock differs by {apart:,.0f} s; set both machines by NTP",
        )
    return Finding("database", Condition.OK, f"PostgreSQL {release} answers")


def _encryption(url: URL) -> Iterator[Finding]:
    host = str(url.host or url.query.get("host", ""))
    is_local = not host or host.startswith(("/", "127.", "localhost", "::1"))
    if not is_local and url.query.get("sslmode") not in _SECURE:
        yield Finding(
            "database",
            Condition.DOUBTFUL,
            "ids, offsets and the password cross the network, perhaps in clear; add"
            " ?sslmode=verify-full to the URL",
        )


def _of_dagster() -> Finding:
    name = "dagster-postgres"
    if find_spec("dagster_postgres") is None:
        remedy = "Dagster keeps its runs in SQLite: pip install dagster-postgres 'psycopg[binary]'"
        return Finding(name, Condition.MISSING, remedy)
    if not os.environ.get(VARIABLE):
        return Finding(
            name,
            Condition.DOUBTFUL,
            f"the URL stands in the settings alone; set {VARIABLE} in .env, where Dagster reads it",
        )
    if make_url(os.environ[VARIABLE]).get_dialect().driver != "psycopg2":
        return Finding(
            name,
            Condition.BROKEN,
            f"Dagster needs another driver; begin {VARIABLE} postgresql+psycopg2://",
        )
    return Finding(name, Condition.OK, "installed")
