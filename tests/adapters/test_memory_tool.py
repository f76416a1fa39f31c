"""Claude's memory tool: files that are memories, and paths that lead nowhere else."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from helpers import GENERATED, empty, person, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer import Agent, MemoryUpdate, Remembrancer, User, as_actor
from remembrancer.adapters.anthropic import RemembrancerMemoryTool, RemembrancerSyncMemoryTool
from remembrancer.adapters.paths import FileRefused, names


@pytest.fixture
def tool(memory: Remembrancer, ada: User) -> RemembrancerMemoryTool:
    return RemembrancerMemoryTool(memory, as_actor(ada))


async def said(tool: Any, command: str, **fields: Any) -> str:
    """What the model is told; a refusal begins with `Error:`."""
    try:
        answer = tool.call({"command": command, **fields})
        return str(await answer if asyncio.iscoroutine(answer) else answer)
    except ToolError as error:
        return f"Error: {error}"


async def test_a_file_is_a_memory_with_versions(
    memory: Remembrancer, ada: User, tool: RemembrancerMemoryTool
) -> None:
    """Created, edited, renamed: one memory, recalled in its latest words, with its history."""
    path = "/memories/people/ada.md"
    await said(tool, "create", path=path, file_text="Ada plays the cello.\nShe lives in Oslo.\n")
    await said(tool, "str_replace", path=path, old_str="cello", new_str="viola")
    await said(tool, "insert", path=path, insert_line=1, insert_text="She teaches it.")
    await said(tool, "rename", old_path=path, new_path="/memories/friends/ada.md")
    answer = await memory.recall("Which instrument does Ada play?", user=ada)
    text = "Ada plays the viola.\nShe teaches it.\nShe lives in Oslo.\n"
    assert [hit.content for hit in answer.hits] == [text]
    history = await memory.memories.get(as_actor(ada), answer.hits[0].id)
    assert [one.content.count("cello") for one in history.versions] == [1, 0, 0]
    assert history.address == ["files", "friends", "ada.md"]
    changes = MemoryUpdate(content="Ada plays the harp.")
    await memory.memories.update(as_actor(ada), history.id, changes)
    assert (await said(tool, "view", path="/memories/friends/ada.md")).endswith(
        "     1\tAda plays the harp."
    )
    await memory.memories.forget(as_actor(ada), history.id)
    assert "does not exist" in await said(tool, "view", path="/memories/friends/ada.md")


FILES = st.sampled_from(["/memories/a.md", "/memories/d/b.md", "/memories/d/e/c.md"])
PLACES = st.one_of(FILES, st.sampled_from(["/memories", "/memories/d", "/memories/d/", "/etc"]))
TEXTS = st.sampled_from(["", "\n", "one", "one\ntwo\n", "one\none\r\n", "x\ny\nz\nx y\n\n", "é\t"])
PARTS = st.sampled_from(["one", "x", "y\nz", "nothing"])
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": FILES, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("create"), "path": FILES, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("view"), "path": PLACES}),
    st.fixed_dictionaries(
        {
            "command": st.just("view"),
            "path": FILES,
            "view_range": st.sampled_from([[1, 2], [2, -1], [0, 1], [9, 12], [3, 2], [1]]),
        }
    ),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": FILES, "old_str": PARTS, "new_str": TEXTS}
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": FILES,
            "insert_line": st.integers(-1, 4),
            "insert_text": TEXTS,
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PLACES}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": FILES, "new_path": FILES}),
)


def without_directories(answer: str) -> str:
    """A listing without the sizes of directories, which a file system makes up."""
    return re.sub(r"^\S+\t(.*/|/memories|/memories/d)$", r"\1", answer, flags=re.MULTILINE)


async def test_it_answers_as_anthropics_own_backend_does(
    memory: Remembrancer, database_url: str, tmp_path: Path
) -> None:
    """Every command, in every order, is answered in the words of the backend on a file system."""
    loop = asyncio.get_running_loop()
    runs = iter(range(1000))

    async def play(commands: list[dict[str, Any]]) -> None:
        await asyncio.to_thread(empty, database_url)
        tool = RemembrancerMemoryTool(memory, as_actor(await person(memory, "Ada")))
        reference = BetaLocalFilesystemMemoryTool(str(tmp_path / str(next(runs))))
        for command in commands:
            expected = await said(reference, **command)
            # A directory of ours is there as long as it holds a file.
            for one in sorted(reference.memory_root.rglob("*"), reverse=True):
                if one.is_dir() and not any(one.iterdir()):
                    one.rmdir()
            answer = await said(tool, **command)
            assert without_directories(answer) == without_directories(expected), command

    @GENERATED
    @given(st.lists(COMMANDS, min_size=10, max_size=20))
    def compare(commands: list[dict[str, Any]]) -> None:
        asyncio.run_coroutine_threadsafe(play(commands), loop).result()

    await asyncio.to_thread(compare)


async def test_refusals_are_in_the_words_that_models_know(tool: RemembrancerMemoryTool) -> None:
    """Letter by letter."""
    await said(tool, "create", path="/memories/a.md", file_text="tea\ncoffee\ntea\n")
    assert [
        await said(tool, "view", path="/memories/b.md"),
        await said(tool, "create", path="/memories/a.md", file_text="x"),
        await said(tool, "str_replace", path="/memories/b.md", old_str="a", new_str="b"),
        await said(tool, "str_replace", path="/memories/a.md", old_str="gin", new_str="b"),
        await said(tool, "str_replace", path="/memories/a.md", old_str="tea", new_str="b"),
        await said(tool, "insert", path="/memories/a.md", insert_line=9, insert_text="b"),
        await said(tool, "delete", path="/memories/b.md"),
        await said(tool, "delete", path="/memories"),
        await said(tool, "rename", old_path="/memories/b.md", new_path="/memories/c.md"),
        await said(tool, "rename", old_path="/memories/a.md", new_path="/memories/a.md"),
    ] == [
        "Error: The path /memories/b.md does not exist. Please provide a valid path.",
        "Error: File /memories/a.md already exists",
        "Error: The path /memories/b.md does not exist. Please provide a valid path.",
        "Error: No replacement was performed, old_str `gin` did not appear verbatim in "
        "/memories/a.md.",
        "Error: No replacement was performed. Multiple occurrences of old_str `tea` in lines: "
        "1, 3. Please ensure it is unique",
        "Error: Invalid `insert_line` parameter: 9. It should be within the range [0, 3].",
        "Error: The path /memories/b.md does not exist",
        "Error: Cannot delete the /memories directory itself",
        "Error: The path /memories/b.md does not exist",
        "Error: The destination /memories/a.md already exists",
    ]


async def test_a_directory_shows_two_levels_and_nothing_hidden(
    tool: RemembrancerMemoryTool,
) -> None:
    """With sizes; a directory's is that of all that lies in it."""
    for path in ("a.md", "d/b.md", "d/e/c.md", "d/e/f/g.md", ".hidden", "d/.too/x.md", "de/z.md"):
        await said(tool, "create", path=f"/memories/{path}", file_text="x" * 512)
    assert await said(tool, "view", path="/memories") == "\n".join(
        [
            "Here're the files and directories up to 2 levels deep in /memories, "
            "excluding hidden items:",
            "3.5K\t/memories",
            "512B\t/memories/a.md",
            "2K\t/memories/d/",
            "512B\t/memories/d/b.md",
            "1K\t/memories/d/e/",
            "512B\t/memories/de/",
            "512B\t/memories/de/z.md",
        ]
    )
    assert (await said(tool, "view", path="/memories/d/e")).endswith(
        "1K\t/memories/d/e\n512B\t/memories/d/e/c.md\n512B\t/memories/d/e/f/\n"
        "512B\t/memories/d/e/f/g.md"
    )
    await said(tool, "rename", old_path="/memories/d", new_path="/memories/moved")
    assert "/memories/moved/e/" in await said(tool, "view", path="/memories")
    await said(tool, "delete", path="/memories/moved")
    left = await said(tool, "view", path="/memories")
    assert "moved" not in left
    assert "/memories/de/z.md" in left


TRAVERSALS = [
    "/memories/../etc/passwd",
    "/memories/a/../../etc",
    "/memories/..",
    "/memories/.",
    "/memories/./a",
    "/memories/%2e%2e/etc",
    "/memories/%2E%2E%2Fetc",
    "/memories/%252e%252e/etc",
    "/memories/%c0%ae%c0%ae/etc",
    "/memories/..%00/a",
    "/memories/a\x00b",
    "/memories/..\\..\\windows",
    "/memories\\..\\etc",
    "/memories/a\\b",
    "/etc/passwd",
    "etc/passwd",
    "memories/a",
    "/Memories/a",
    "/memoriesX/a",
    "/memories-of-others/a",
    "//memories/a",
    "/memories//etc/passwd",
    "file:///memories/a",
    "C:\\memories\\a",
    "~/memories/a",
    "",
    "/",
    "/memories/\u2024\u2024/etc",
    "/memories/\uff0e\uff0e/etc",
    "/memories/\u2025/etc",
    "/memories/..\u2215etc",
    "/memories/a\u2044b",
    "/memories/a\uff0fb",
    "/memories/a\uff3cb",
    "/memories/.\u200b./etc",
    "/memories/a\u202eb",
    "/memories/a\nb",
    "/memories/ /a",
    "/memories/... /a",
    "/memories/.../a",
    "/memories/\ud800",
    "/memories/" + "a/" * 30 + "b",
    "/memories/" + "a" * 201,
]


@pytest.mark.parametrize("path", TRAVERSALS, ids=ascii)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    """Upwards, escaped, absolute, of another system, in lookalikes or unseen characters."""
    with pytest.raises(FileRefused):
        names(path)


async def test_no_command_follows_a_path_that_leads_elsewhere(
    tool: RemembrancerMemoryTool,
) -> None:
    """Each command refuses it, at each of its paths, and nothing is stored or lost."""
    await said(tool, "create", path="/memories/a.md", file_text="kept")
    before = rows("SELECT owner_id, id, address, content, status FROM memories")
    for path in TRAVERSALS:
        for command, fields in {
            "view": {"path": path},
            "create": {"path": path, "file_text": "x"},
            "str_replace": {"path": path, "old_str": "kept", "new_str": "x"},
            "insert": {"path": path, "insert_line": 0, "insert_text": "x"},
            "delete": {"path": path},
        }.items():
            assert (await said(tool, command, **fields)).startswith("Error: "), (command, path)
        for old, new in ((path, "/memories/b.md"), ("/memories/a.md", path)):
            answer = await said(tool, "rename", old_path=old, new_path=new)
            assert answer.startswith("Error: "), path
    assert rows("SELECT owner_id, id, address, content, status FROM memories") == before


PIECES = st.one_of(
    st.sampled_from(
        ["/", "..", ".", "\\", "%2e", "%2f", "%5c", "%00", "\x00", "memories", "/memories/", "~"]
    ),
    st.sampled_from(["\u2215", "\uff0f", "\u2024", "\uff0e", "\u200b", "e\u0301", "a", " "]),
    st.text(max_size=4),
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_is_accepted_lies_below_the_root(path: str) -> None:
    """For any text: it is refused, or its names, joined again, are a plain path below the root."""
    try:
        found = names(f"/memories/{path}")
    except FileRefused:
        return
    joined = "/".join(("/memories", *found))
    assert Path(joined).resolve() == Path(joined)
    for name in found:
        assert name not in {"", ".", ".."}
        assert not set(name) & set("/\\\x00")
    assert names(joined) == found


async def test_nobody_reaches_another_users_files(
    memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Same paths, other people, other agents: each has files of their own."""
    actors = [as_actor(ada), as_actor(bob), as_actor(ada, agent), as_actor(bob, agent)]
    tools = [RemembrancerMemoryTool(memory, actor) for actor in actors]
    for number, tool in enumerate(tools):
        await said(tool, "create", path="/memories/d/a.md", file_text=f"secret {number}")
    for number, tool in enumerate(tools):
        assert (await said(tool, "view", path="/memories/d/a.md")).endswith(f"secret {number}")
    await said(tools[0], "delete", path="/memories/d")
    for number, tool in enumerate(tools[1:], 1):
        assert (await said(tool, "view", path="/memories/d/a.md")).endswith(f"secret {number}")


async def test_sizes_and_contents_have_bounds(tool: RemembrancerMemoryTool) -> None:
    """A refusal says by how much, or why; what was there stays."""
    await said(tool, "create", path="/memories/a.md", file_text="x" * 1990)
    assert await said(
        tool, "insert", path="/memories/a.md", insert_line=0, insert_text="y" * 20
    ) == (
        "Error: Nothing was saved: the file would have 2,012 characters, and the maximum is "
        "2,000. Split it into several files."
    )
    answers = [
        await said(tool, "create", path="/memories/b.md", file_text="z" * 2001),
        await said(tool, "create", path="/memories/b.md", file_text="a\x00b"),
        await said(tool, "create", path="/memories/b.md", file_text="card 4111 1111 1111 1111"),
        await said(tool, "create", path="/memories/a.md/b.md", file_text="a file is above"),
        await said(tool, "create", path="/memories/b.md"),
        await said(tool, "insert", path="/memories/a.md", insert_line="x", insert_text="y"),
        await said(tool, "view", path="/memories/a.md", view_range=["x", 2]),
        await said(tool, "view"),
    ]
    assert all(answer.startswith("Error: ") for answer in answers), answers
    assert rows("SELECT length(content) FROM memories") == [(1990,)]


async def test_any_text_comes_back_as_it_was(tool: RemembrancerMemoryTool) -> None:
    """Blank ones, spaces at the ends, and what stands for a blank one too."""
    texts = ["", " \n\t", "  a \n\n", "(a file without visible text)", "a\rb\r\n", "日本語🙂"]
    for number, text in enumerate(texts):
        path = f"/memories/{number}.md"
        await said(tool, "create", path=path, file_text=text)
        shown = await said(tool, "view", path=path)
        lines = [line.partition("\t")[2] for line in shown.split("\n")[1:]]
        assert "\n".join(lines) == text


async def test_a_refusal_can_be_sent(tool: RemembrancerMemoryTool) -> None:
    """Whatever a model wrote: half a character is quoted as a question mark."""
    for path in ("/memories/\ud800", "\udfff"):
        assert (await said(tool, "view", path=path)).encode().startswith(b"Error: Path")


async def test_edits_at_the_same_time_are_all_kept(tool: RemembrancerMemoryTool) -> None:
    """One that finds the file changed meanwhile begins anew."""
    await said(tool, "create", path="/memories/a.md", file_text="start\n")
    answers = await asyncio.gather(
        *(
            said(tool, "insert", path="/memories/a.md", insert_line=0, insert_text=f"line {n}")
            for n in range(4)
        )
    )
    assert set(answers) == {"The file /memories/a.md has been edited."}
    text = await said(tool, "view", path="/memories/a.md")
    assert all(f"line {n}" in text for n in range(4))


async def test_the_synchronous_tool_is_the_same(memory: Remembrancer, ada: User) -> None:
    """In a thread beside the event loop; both are the tool `memory_20250818` to the API."""
    tool = RemembrancerSyncMemoryTool(memory, as_actor(ada))
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}

    def work() -> list[str]:
        return [
            str(tool.call({"command": command, "path": "/memories/a.md", **fields}))
            for command, fields in [
                ("create", {"file_text": "one"}),
                ("str_replace", {"old_str": "one", "new_str": "two"}),
                ("insert", {"insert_line": 0, "insert_text": "zero"}),
                ("view", {}),
                ("delete", {}),
            ]
        ]

    answers = await asyncio.to_thread(work)
    assert answers[3].endswith("     1\tzero\n     2\ttwo\n     3\t")
    assert await asyncio.to_thread(tool.clear_all_memory) == "All memory cleared"
    renamed = {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"}
    with pytest.raises(ToolError, match="does not exist"):
        await asyncio.to_thread(tool.call, renamed)
