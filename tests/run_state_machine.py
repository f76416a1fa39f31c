"""Run the state machine on a store, for a number of steps."""

import asyncio
from contextlib import nullcontext

from helpers import Store as Database
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from rule_removal import rule_removal
from state_machine import Store

from remembrancer import Remembrancer, Settings
from remembrancer.settings import EmbeddingSettings

LIVES = settings(
    max_examples=3,
    stateful_step_count=50,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


def run_lives(
    url: str, steps: int, *, row_security_alone: bool = False, lives: settings = LIVES
) -> None:
    """Take ``steps`` steps, or a few more, on the store at ``url``.

    With ``row_security_alone`` no statement has the access rule.
    """
    Store.row_security_alone, Store.steps, Store.shown = row_security_alone, 0, 0
    with (
        asyncio.Runner() as runner,
        rule_removal() if row_security_alone else nullcontext() as rule,
    ):
        Store.url, Store.runner, Database.url = url, runner, url
        chosen = Settings(embedding=EmbeddingSettings(threads=1))
        store = Remembrancer.open(database_url=url, settings=chosen)
        Store.memory = runner.run(store.__aenter__())
        try:
            while Store.steps < steps:
                # How long lives are is up to chance, so some more of them until it is enough.
                run_state_machine_as_test(seed(Store.steps)(Store), settings=lives)
        finally:
            runner.run(store.__aexit__(None, None, None))
    assert Store.shown > Store.steps, (Store.shown, Store.steps)
    assert rule is None or rule.count > Store.steps, "the rule was hardly ever taken out"
