"""Queue of runs that notes who launched each.

As a reverse proxy says, and in a way that nobody without the key can.
"""

from collections.abc import Sequence
from hmac import compare_digest

from dagster._core.run_coordinator.base import SubmitRunContext
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator
from dagster._core.storage.dagster_run import DagsterRun

from deid_assets.config import Settings
from deid_assets.config.secret import secret_of_file
from deid_assets.core.errors import DeidError
from deid_assets.store.approvals import LOGIN_TAG, login_code

PROXY_HEADER = "X-Deid-Proxy"
"""In which the proxy shows the secret that it shares with the installation."""


class LoginRunCoordinator(QueuedRunCoordinator):
    """Dagster's own queue; ``dagster.yaml`` names it."""

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Replace what the caller may have written into the tag by what the proxy says, and queue
        the run.
        """
        run_id = context.dagster_run.run_id
        login = _login(context, run_id)
        if login or LOGIN_TAG in context.dagster_run.tags:
            self._instance.add_run_tags(run_id, {LOGIN_TAG: login})
        return super().submit_run(context)


def _login(context: SubmitRunContext, run_id: str) -> str:
    """Return who is logged in, with the code that proves it.

    Empty where nobody is, no proxy is declared, or the request is not the proxy's.
    """
    try:
        settings = Settings.load()
        approvals = settings.approvals
        if not approvals.login_header or approvals.login_secret is None:
            return ""
        logins = _values(context, approvals.login_header)
        shown = _values(context, PROXY_HEADER)
        secret = secret_of_file(
            approvals.login_secret,
            absent="name it in approvals.login_secret",
            wrong="make one with `openssl rand -hex 32`",
        )
        # A header that stands twice is the caller's beside the proxy's.
        if len(logins) != 1 or len(shown) != 1 or not logins[0]:
            return ""
        if not compare_digest(shown[0].encode(), secret.hex().encode()):
            return ""
        return f"{logins[0]} {login_code(settings.key(), run_id, logins[0])}"
    except DeidError:  # wrong settings: the run itself says so
        return ""


def _values(context: SubmitRunContext, header: str) -> Sequence[str]:
    """Return what the request of a run says in a header, once for each time that it
    stands there.
    """
    source = getattr(context.workspace, "source", None)
    headers = getattr(source, "headers", None)
    return headers.getlist(header) if headers else ()
