"""An assistant in the terminal: it streams, goes on tomorrow, and asks what it may keep.

    pip install 'remembrancer[llm]'
    export REMEMBRANCER_LLM__MODEL=ollama:qwen3 REMEMBRANCER_EXTRACTION__REVIEW=confirm
    python examples/assistant.py

Messages that leave the chat's window are summarised in the background, and the model finds facts
in them. ``/review`` asks about each fact. An empty line ends the program.
"""

from contextlib import suppress

from remembrancer import Decision, Memory, NotFound, ReviewDecision, as_actor


def review(memory: Memory) -> None:
    """Ask about each new fact: keep it, or never find it again."""
    me, facts = as_actor("app:me"), memory.library.review
    with suppress(NotFound):  # before the first message nobody is known
        for fact in memory.wait(facts.list, me).items:
            kept = input(f"{fact.content} Keep it? [y/n] ") == "y"
            decision = Decision.CONFIRM if kept else Decision.REJECT
            memory.wait(facts.decide, me, [ReviewDecision(memory_id=fact.id, decision=decision)])


def main() -> None:
    """Answer line after line, until an empty one."""
    with Memory("./memory") as memory:
        while said := input("> "):
            if said == "/review":
                review(memory)
                continue
            for piece in memory.chat(said, user="me", agent="Assistant"):
                print(piece, end="", flush=True)
            print()


if __name__ == "__main__":
    main()
