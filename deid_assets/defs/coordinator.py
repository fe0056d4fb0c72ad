"""Queue of runs that notes who launched each.

As a reverse proxy says, and in a way that nobody without the key can.
"""

from dagster._core.run_coordinator.base import SubmitRunContext
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator
from dagster._core.storage.dagster_run import DagsterRun

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError
from deid_assets.store.approvals import LOGIN_TAG, login_code


class LoginRunCoordinator(QueuedRunCoordinator):
    """Dagster's own queue; ``dagster.yaml`` names it."""

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Replace what the caller may have written into the tag by what the proxy says, and queue the run."""
        run_id = context.dagster_run.run_id
        login = _login(context, run_id)
        if login or LOGIN_TAG in context.dagster_run.tags:
            self._instance.add_run_tags(run_id, {LOGIN_TAG: login})
        return super().submit_run(context)


def _login(context: SubmitRunContext, run_id: str) -> str:
    """Return who is logged in, with the code that proves it.

    Empty where nobody is, or no proxy is declared.
    """
    try:
        settings = Settings.load()
        header = settings.approvals.login_header
        login = context.get_request_header(header) if header else None
        return f"{login} {login_code(settings.key(), run_id, login)}" if login else ""
    except DeidError:  # wrong settings: the run itself says so
        return ""
