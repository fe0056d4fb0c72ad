"""Automation: assets that are made when their inputs change.

Everything here is off until the user switches it on.
"""

import dagster as dg

deps_gated = dg.AutomationCondition.all_deps_match(
    dg.AutomationCondition.will_be_requested() | ~dg.AutomationCondition.execution_failed()
).with_label("deps_gated")
"""Every dependency is either about to be made in the same run, or did not fail when it was last
made.

An asset fails where one of its blocking checks does (``defs/audit.py``), and ``eager()`` alone
would start what is below it all the same. The checks themselves cannot be used: to Dagster one that
is not applicable did not pass.
"""

eager_and_gated = dg.AutomationCondition.eager() & deps_gated
"""New data flows down by itself, past nothing that failed."""

never_taken = (
    dg.AutomationCondition.missing()
    & ~dg.AutomationCondition.any_deps_missing()
    & ~dg.AutomationCondition.in_progress()
    & ~dg.AutomationCondition.execution_failed()
).with_label("never_taken")
"""What it reads is there, and it was never made: ``eager()`` counts only what changed since the
first tick, and so would leave a table that is older than the component.
"""
