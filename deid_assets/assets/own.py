"""An installation's own suites become checks of the assets that they name."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from deid_assets.assets.declarations import AssetDeclaration, AssetOutput, Check, Make
from deid_assets.core.errors import ConfigError
from deid_assets.quality.own import judge_own, list_own_checks
from deid_assets.quality.suites import Suite, find_unknown_assets, suite_of

_OWN_SUITES: ContextVar[Mapping[str, Suite]] = ContextVar("own_suites")
_DESCRIPTION = "What this installation's own suite of expectations asks."


@contextmanager
def asking(suites: Mapping[str, Suite]) -> Iterator[None]:
    """Have every asset that is defined inside answer the suite that names it."""
    token = _OWN_SUITES.set(suites)
    try:
        yield
    finally:
        _OWN_SUITES.reset(token)


def add_own_suite(make: Make, declaration: AssetDeclaration) -> tuple[Make, AssetDeclaration]:
    """Return an asset's body and plan with the checks of the suite that names it, if one does."""
    suite = suite_of(_OWN_SUITES.get({}), declaration.key)
    if suite is None:
        return make, declaration

    def judge(*args: Any, **options: Any) -> AssetOutput:
        output = make(*args, **options)
        return replace(output, verdicts=[*output.verdicts, *judge_own(suite, output.tables)])

    checks = [
        Check(name, _DESCRIPTION, blocking=blocking)
        for name, blocking in list_own_checks(suite).items()
    ]
    return judge, replace(
        declaration,
        checks=[*declaration.checks, *checks],
        code_version=f"{declaration.code_version}+suite-{suite.digest[:12]}",
    )


def check_asked(suites: Mapping[str, Suite], assets: Sequence[str]) -> None:
    """Check that an asset answers to each suite.

    Raises:
        ConfigError: With a line for each suite that would never be evaluated.
    """
    if faults := list(find_unknown_assets(suites, assets)):
        raise ConfigError("\n".join(faults))
