"""An assistant in the terminal, whole: it streams, calls the memory tools, and goes on tomorrow.

pip install 'remembrancer[llm]'
REMEMBRANCER_LLM__MODEL=ollama:qwen3 python examples/assistant.py
"""

from remembrancer import Memory


def main() -> None:
    """Answer line after line, until an empty one."""
    with Memory("./memory-data") as memory:
        while said := input("> "):
            for piece in memory.chat(said, user="me", agent="Assistant"):
                print(piece, end="", flush=True)
            print()


if __name__ == "__main__":
    main()
