"""Run the machine on a store; as a program, with row-level security as the only guard."""

import asyncio
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

STEPS = 2000
LIVES = settings(
    max_examples=10,
    stateful_step_count=50,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


def lived(url: str, *, row_security_alone: bool = False) -> None:
    """Let the machine take ``STEPS`` steps, or a few more, on the store at ``url``."""
    from helpers import Store as Reach
    from state_machine import Store

    from remembrancer import Remembrancer, Settings
    from remembrancer.settings import EmbeddingSettings

    Store.row_security_alone = row_security_alone
    with asyncio.Runner() as runner:
        Store.url, Store.runner, Reach.url = url, runner, url
        chosen = Settings(embedding=EmbeddingSettings(threads=1))
        opened = Remembrancer.open(database_url=url, settings=chosen)
        Store.memory = runner.run(opened.__aenter__())
        _embed_each_text_once(Store.memory)
        try:
            while Store.steps < STEPS:
                # How long lives are is up to chance, so some more of them until it is enough.
                run_state_machine_as_test(seed(Store.steps)(Store), settings=LIVES)
        finally:
            runner.run(opened.__aexit__(None, None, None))
    assert Store.shown > Store.steps, (Store.shown, Store.steps)


def _embed_each_text_once(memory: Any) -> None:
    """Keep vectors: every life says the same words, and the model is most of a write."""
    embed, known = memory.embedder.embed_documents, dict[str, Any]()

    async def embed_documents(texts: Sequence[str]) -> Any:
        if new := [text for text in texts if text not in known]:
            known.update(zip(new, await embed(new), strict=True))
        return np.array([known[text] for text in texts])

    memory.embedder.embed_documents = embed_documents


def _without_the_rule() -> None:
    """Let every statement ask for everything, before any of them is made."""
    # The package imports all of itself; the rule alone comes from an empty one.
    spec = find_spec("remembrancer")
    assert spec is not None
    sys.modules["remembrancer"] = module_from_spec(spec)
    access = import_module("remembrancer.access")
    del sys.modules["remembrancer"]

    def everything(_alias: str, **_: str) -> str:
        # The values are still bound, so that nothing else changes.
        return "(true OR CAST(:user_id AS uuid) IS NULL OR CAST(:agent_id AS uuid) IS NULL)"

    access.visible = everything  # type: ignore[attr-defined]


if __name__ == "__main__":
    _without_the_rule()
    lived(sys.argv[1], row_security_alone=True)
