"""An installation's own suites become checks of the assets that they name."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from deid_assets.core.errors import ConfigError
from deid_assets.defs.drafts import Check, Draft, Make, Plan
from deid_assets.quality.own import judge_own, own_checks
from deid_assets.quality.suites import Suite, suite_of, unknown_assets

_ASKED: ContextVar[Mapping[str, Suite]] = ContextVar("own_suites")
_DESCRIPTION = "What this installation's own suite of expectations asks."


@contextmanager
def asking(suites: Mapping[str, Suite]) -> Iterator[None]:
    """Have every asset that is defined inside answer the suite that names it."""
    token = _ASKED.set(suites)
    try:
        yield
    finally:
        _ASKED.reset(token)


def with_own_suite(make: Make, plan: Plan) -> tuple[Make, Plan]:
    """Return an asset's body and plan with the checks of the suite that names it, if one does."""
    suite = suite_of(_ASKED.get({}), plan.key)
    if suite is None:
        return make, plan

    def judged(*args: Any, **options: Any) -> Draft:
        draft = make(*args, **options)
        return replace(draft, verdicts=[*draft.verdicts, *judge_own(suite, draft.tables)])

    checks = [Check(name, _DESCRIPTION, blocking=blocking) for name, blocking in own_checks(suite).items()]
    return judged, replace(
        plan, checks=[*plan.checks, *checks], code_version=f"{plan.code_version}+suite-{suite.digest[:12]}"
    )


def check_asked(suites: Mapping[str, Suite], assets: Sequence[str]) -> None:
    """Check that an asset answers to each suite.

    Raises:
        ConfigError: With a line for each suite that would never be asked.
    """
    if faults := list(unknown_assets(suites, assets)):
        raise ConfigError("\n".join(faults))
