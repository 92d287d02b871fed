"""The command line, run as people run it: a process, its output, its exit code."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Serve = Callable[..., "tuple[TextIO, subprocess.Popen[str]]"]
Write = Callable[[str, str], Path]

GREETER = '''
from snodo import Server
server = Server("greeter", version="1.2.3", instructions="Be polite.")

@server.tool
def greet(name: str, times: int = 1) -> str:
    """Greet someone.

    Args:
        name: Whom to greet.
    """
    return " ".join([f"Hello, {name}!"] * times)
'''


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(
        *arguments: str, stdin: str = "", env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "snodo", *arguments],
            cwd=tmp_path,
            env={**clean_environment(), **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
        )

    return run


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, source: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write


def clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SNODO_")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def message(method: str, **params: Any) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return json.dumps(body) + "\n"


def complaint(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line that a misused command prints, and nothing else."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("snodo: ")
    return done.stderr


# --- targets -----------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named_with_what_is(run: Run, write: Write) -> None:
    write("other.py", GREETER)
    assert "there is no file app.py; found other.py" in complaint(run("serve", "app.py"))


def test_a_module_that_is_not_there_is_named(run: Run, write: Write) -> None:
    assert "there is no module nowhere (" in complaint(run("serve", "nowhere.app:server"))
    write("shop/__init__.py", "")
    assert "there is no module shop.app (" in complaint(run("serve", "shop.app:server"))


def test_a_missing_name_is_answered_with_the_servers_that_are_there(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    assert "app.py has no 'mcp'; found server" in complaint(run("serve", "app.py:mcp"))


def test_something_else_than_a_server_is_named_by_its_type(run: Run, write: Write) -> None:
    write("app.py", GREETER + "\nmcp = {}\n")
    assert "app.py:mcp is of type dict, not a Server; found server" in complaint(
        run("serve", "app.py:mcp")
    )


def test_a_module_without_a_server_is_answered_with_what_it_has(run: Run, write: Write) -> None:
    write("app.py", "import json\nmcp = {}\ndef add(): pass\n")
    assert "defines no Server; found mcp (dict), add (function)" in complaint(
        run("serve", "app.py")
    )


def test_several_servers_are_all_named(run: Run, write: Write) -> None:
    write(
        "app.py",
        "from snodo import Server\na = Server('a', version='1')\nb = Server('b', version='1')\n",
    )
    assert "defines 2 servers (a, b); name one, such as app.py:a" in complaint(
        run("serve", "app.py")
    )


def test_one_server_under_two_names_is_one_server(run: Run, write: Write) -> None:
    write("app.py", GREETER + "\nalias = server\n")
    assert run("inspect", "app.py").returncode == 0


def test_without_a_target_the_usual_names_are_tried(run: Run, write: Write) -> None:
    assert "none of server.py, app.py, main.py" in complaint(run("serve"))
    write("main.py", GREETER)
    assert "greeter 1.2.3" in run("inspect").stdout


def test_a_name_picks_one_of_several(run: Run, write: Write) -> None:
    write("app.py", GREETER + "\nother = Server('other', version='2')\n")
    assert "other 2" in run("inspect", "app.py:other").stdout


def test_a_module_path_is_found_from_the_current_folder(run: Run, write: Write) -> None:
    write("shop/__init__.py", "")
    write("shop/tools.py", GREETER)
    assert "greeter 1.2.3" in run("inspect", "shop.tools:server").stdout


def test_a_file_sees_its_own_folder_as_python_would_show_it(run: Run, write: Write) -> None:
    write("deep/neighbour.py", "NAME = 'neighbour'\n")
    write(
        "deep/app.py",
        "from neighbour import NAME\nfrom snodo import Server\ns = Server(NAME, version='1')\n",
    )
    assert "neighbour 1" in run("inspect", "deep/app.py").stdout


def test_the_guarded_part_of_a_file_does_not_run(run: Run, write: Write) -> None:
    write("app.py", GREETER + '\nif __name__ == "__main__":\n    raise SystemExit("ran")\n')
    assert run("inspect", "app.py").returncode == 0


def test_an_unguarded_run_is_refused_with_the_line(run: Run, write: Write) -> None:
    write("app.py", GREETER + "\nserver.run()\n")
    line = len(GREETER.splitlines()) + 2
    assert f"app.py:{line} runs the server when imported" in complaint(run("serve", "app.py"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\nraise RuntimeError('no database')\n", "app.py:2: RuntimeError: no database"),
        ("import nothing_such\n", "app.py:1: ModuleNotFoundError: No module named 'nothing_such'"),
        ("def broken(:\n", "app.py:1: SyntaxError"),
        ("import sys\nsys.exit(3)\n", "called sys.exit(3) when imported"),
    ],
)
def test_a_module_that_fails_is_named_with_the_line(
    run: Run, write: Write, source: str, said: str
) -> None:
    write("app.py", source)
    assert said in complaint(run("serve", "app.py"))


def test_debug_shows_the_traceback_of_a_module_that_fails(run: Run, write: Write) -> None:
    write("app.py", "raise RuntimeError('no database')\n")
    assert "Traceback" in run("inspect", "app.py", "--debug").stderr


def test_names_that_some_clients_refuse_are_gaps(run: Run, write: Write) -> None:
    write("app.py", GREETER + "\n@server.tool(name='my tool')\ndef my() -> str:\n    'Do.'\n")
    assert "my tool: some clients refuse names" in run("inspect", "app.py").stdout


def test_what_may_be_taken_for_guarded_is_a_warning(run: Run, write: Write) -> None:
    write("app.py", GREETER.replace("@server.tool", "@server.tool(metadata={'scopes': 'a'})"))
    for command in ("check", "inspect"):
        assert "tool greet: its metadata says scopes, and nobody" in run(command, "app.py").stdout
    policy = "authorize=auth.require_scopes(needs={'gret': 'a', 'greet': 'b'})"
    source = GREETER.replace('"greeter",', f'"greeter", {policy},')
    write("app.py", source.replace("import Server", "import Server, auth"))
    told = run("check", "app.py").stdout
    assert "warnings (1)\n  require_scopes: needs names 'gret', which no component" in told
    assert "## Warnings" in run("inspect", "app.py", "--format", "markdown").stdout
    write("app.py", GREETER)
    assert "arnings" not in run("check", "app.py").stdout


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["srve", "app.py"], "serve"),
        (["serve", "app.py", "--prot", "8001"], "--port"),
        (["serve", "app.py", "--prot=8001"], "--port"),
        (["inspect", "app.py", "--format", "jsn"], "json"),
    ],
)
def test_what_may_have_been_meant_is_named(run: Run, arguments: list[str], meant: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("arguments", "short", "meant"),
    [
        (["serve", "app.py", "--worker", "2"], "--worker", "--workers"),
        (["serve", "app.py", "--ssl-certfil", "x"], "--ssl-certfil", "--ssl-certfile"),
        (["serve", "app.py", "--std"], "--std", "--stdio"),
        (["inspect", "app.py", "--form", "json"], "--form", "--format"),
        (["call", "app.py", "greet", "--js", "{}"], "--js", "--json"),
        (["--vers"], "--vers", "--version"),
    ],
)
def test_a_flag_is_written_out(
    run: Run, write: Write, arguments: list[str], short: str, meant: str
) -> None:
    write("app.py", GREETER)
    done = run(*arguments)
    assert done.returncode == 2
    assert f"unrecognized arguments: {short}" in done.stderr
    assert done.stderr.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize("target", ["app.py", "app.py:create"])
def test_a_function_that_makes_the_server_is_named(run: Run, write: Write, target: str) -> None:
    write("app.py", "from snodo import Server\ndef create() -> Server:\n    return Server('x')\n")
    assert "assign it at module level: server = create()" in complaint(run("serve", target))


def test_debug_shows_the_exception_of_a_tool_that_is_called(run: Run, write: Write) -> None:
    write("app.py", GREETER + "\n@server.tool\ndef fail() -> str:\n    raise KeyError('lost')\n")
    assert "lost" not in run("call", "app.py", "fail").stdout
    for done in (
        run("call", "app.py", "fail", "--debug"),
        run("call", "app.py", "fail", env={"SNODO_DEBUG": "1"}),
    ):
        assert done.returncode == 1
        assert "KeyError: 'lost'" in done.stdout
        assert "Traceback" in done.stderr


def test_a_debug_variable_that_makes_no_sense_is_told(run: Run, write: Write) -> None:
    write("app.py", "raise RuntimeError\n")
    assert "SNODO_DEBUG: expected 1 or 0" in complaint(
        run("inspect", "app.py", env={"SNODO_DEBUG": "maybe"})
    )


def test_a_lifespan_that_fails_is_one_line_for_a_call_too(run: Run, write: Write) -> None:
    lifespan = """
@server.lifespan
async def alive():
    raise RuntimeError("no database")
    yield
"""
    write("app.py", GREETER + lifespan)
    done = run("call", "app.py", "greet", "name=Ada")
    assert done.returncode == 1
    assert done.stderr == "snodo: the lifespan failed: RuntimeError: no database\n"
    assert "Traceback" in run("call", "app.py", "greet", "name=Ada", "--debug").stderr


def test_ctrl_c_while_it_is_imported_shows_no_traceback() -> None:
    begun = """
        import os, signal, sys
        sys.argv = ["snodo", "--version"]
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "snodo.cli":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Finder())
        import runpy
        runpy.run_module("snodo", run_name="__main__")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(begun)], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# --- flags and variables -----------------------------------------------------------------------


def test_a_wrong_flag_and_a_wrong_variable_are_named(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    assert "--port: expected a whole number from 0 to 65535, got '99999'" in complaint(
        run("serve", "app.py", "--port", "99999")
    )
    assert "SNODO_LOG_FORMAT: expected one of text, json, got 'xml'" in complaint(
        run("serve", "app.py", env={"SNODO_LOG_FORMAT": "xml"})
    )
    assert "--path: expected a path that starts with /" in complaint(
        run("serve", "app.py", "--path", "mcp")
    )


def test_no_command_prints_help_and_fails(run: Run) -> None:
    done = run()
    assert done.returncode == 2
    assert "serve" in done.stderr


def test_the_version_is_told(run: Run) -> None:
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"snodo \d+\.\d+\.\d+\n", done.stdout)


# --- inspect, call, check ----------------------------------------------------------------------


def test_inspect_tells_the_catalogue_and_its_gaps(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    text = run("inspect", "app.py").stdout
    assert "greet(name: string, times?: integer)" in text
    assert "greet: argument times has no description" in text
    offer = json.loads(run("inspect", "app.py", "--format", "json").stdout)
    assert offer["server"]["name"] == "greeter"
    assert offer["revisions"] == [
        "2026-07-28",
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05",
    ]
    assert [tool["name"] for tool in offer["tools"]] == ["greet"]
    assert offer["instructions"] == "Be polite."
    page = run("inspect", "app.py", "--format", "markdown").stdout
    assert page.startswith("# greeter 1.2.3\n")
    assert "| `name` | string | yes | Whom to greet. |" in page


def test_what_a_module_prints_does_not_spoil_the_output(run: Run, write: Write) -> None:
    write("app.py", "import os\nprint('hello')\nos.write(1, b'C level')\n" + GREETER)
    done = run("inspect", "app.py", "--format", "json")
    assert json.loads(done.stdout)["tools"]
    assert "hello" in done.stderr
    assert "C level" in done.stderr


def test_output_goes_into_a_file_while_errors_go_down_a_pipe(tmp_path: Path, write: Write) -> None:
    write("app.py", GREETER)
    with (tmp_path / "out.txt").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "snodo", "call", "app.py", "greet", "name=Ada"],
            cwd=tmp_path,
            env=clean_environment(),
            stdout=file,
            stderr=subprocess.PIPE,
            timeout=30,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out.txt").read_text() == "Hello, Ada!\n"


def test_call_reads_arguments_by_their_schema(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    done = run("call", "app.py", "greet", "name=7", "times=2")
    assert (done.returncode, done.stdout) == (0, "Hello, 7! Hello, 7!\n"), done.stderr


def test_call_takes_json_from_the_line_and_from_standard_input(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    assert run("call", "app.py", "greet", "--json", '{"name":"Bo"}').stdout == "Hello, Bo!\n"
    done = run("call", "app.py", "greet", "--json", "-", "--format", "json", stdin='{"name":"Cy"}')
    assert json.loads(done.stdout)["content"] == [{"type": "text", "text": "Hello, Cy!"}]


def test_call_says_what_was_wrong(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    assert "there is no tool 'greeet'; found greet" in complaint(run("call", "app.py", "greeet"))
    assert "expected key=value, got 'Ada'" in complaint(run("call", "app.py", "greet", "Ada"))
    assert "--json: not JSON" in complaint(run("call", "app.py", "greet", "--json", "{"))
    done = run("call", "app.py", "greet", "times=many")
    assert done.returncode == 1
    assert "many" not in done.stdout


ASKING = """
from snodo import Context, Error, Result, Server, elicit
server = Server("asking", version="1")

@server.tool
def asks(context: Context) -> str:
    return context.ask("sure", elicit.form("Sure?", bool)).action

@server.prompt
def begs(context: Context) -> str:
    return context.ask("sure", elicit.form("Sure?", bool)).action

@server.tool
def waits():
    return Result.input_required(request_state="later")

@server.tool
def fails():
    raise Error(4001, "No", {"retry": "tomorrow"})
"""


def test_call_says_what_it_cannot_answer(run: Run, write: Write) -> None:
    write("app.py", ASKING)
    cannot = "asks the client for elicitation, which `snodo call` cannot answer"
    again = "asks to be called again, which `snodo call` does not do"
    for call, words in (
        (["asks"], f"this tool {cannot}"),
        (["--prompt", "begs"], f"this prompt {cannot}"),
        (["waits"], f"this tool {again}"),
    ):
        done = run("call", "app.py", *call)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"snodo: {words}\n")
    assert "later" in run("call", "app.py", "waits", "--format", "json").stdout


def test_call_shows_what_came_with_an_error(run: Run, write: Write) -> None:
    write("app.py", ASKING)
    done = run("call", "app.py", "fails")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'snodo: error 4001: No {"retry": "tomorrow"}\n'


LIBRARY = """
from typing import Literal
from snodo import Message, Server, StaticResource
server = Server("library", version="1")

@server.resource("book://{title}/{page}", mime_type="text/plain")
def page(title: str, page: int) -> str:
    return f"{title}, page {page}"

@server.prompt
def review(title: str, tone: Literal["dry", "warm"] = "dry") -> list[Message]:
    '''Review a book.

    Args:
        title: Of the book.
    '''
    return [Message.user(f"Review {title}"), Message.assistant(tone)]

server.add(StaticResource("book://list", text="none", name="list", description="All books."))
"""


def test_inspect_tells_every_kind(run: Run, write: Write) -> None:
    write("app.py", LIBRARY)
    text = run("inspect", "app.py").stdout
    for line in (
        "resources (1)\n  book://list  list\n      All books.",
        "templates (1)\n  book://{title}/{page}  page  (text/plain)",
        "prompts (1)\n  review(title, tone?)\n      Review a book.",
        "  resource page: no description",
        "  prompt review: argument tone has no description",
    ):
        assert line in text, text
    assert "tools" not in text
    offer = json.loads(run("inspect", "app.py", "--format", "json").stdout)
    assert [one["name"] for one in offer["resources"]] == ["list"]
    assert [one["name"] for one in offer["resourceTemplates"]] == ["page"]
    assert [one["name"] for one in offer["prompts"]] == ["review"]
    page = run("inspect", "app.py", "--format", "markdown").stdout
    assert "## Resources\n\n| URI | name | type | description |" in page
    assert "| `book://{title}/{page}` | page | text/plain |  |" in page
    assert "### `review`\n\nReview a book.\n\n| argument | required | description |" in page
    assert "| `title` | yes | Of the book. |" in page


def test_call_reads_resources_and_gets_prompts(run: Run, write: Write) -> None:
    write("app.py", LIBRARY)
    assert run("call", "app.py", "--read", "book://list").stdout == "none\n"
    assert run("call", "app.py", "--read", "book://dune/7").stdout == "dune, page 7\n"
    done = run("call", "app.py", "--prompt", "review", "title=Dune", "tone=warm")
    assert done.stdout == "user: Review Dune\nassistant: warm\n"
    done = run("call", "app.py", "--read", "book://dune/x")
    assert done.returncode == 1
    assert "Resource not found" in done.stderr
    assert "there is no prompt 'other'; found review" in complaint(
        run("call", "app.py", "--prompt", "other")
    )
    assert "expected key=value, got 'Dune'" in complaint(
        run("call", "app.py", "--prompt", "review", "Dune")
    )
    assert "name one tool" in complaint(run("call", "app.py"))
    write("app.py", GREETER)
    assert complaint(run("call", "app.py")).endswith("; the tools are: greet\n")


def test_check_prints_the_catalogue_of_a_good_module(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    done = run("check", "app.py")
    assert done.returncode == 0, done.stderr
    assert "greet(name: string, times?: integer)" in done.stdout


def test_check_prints_every_wrong_declaration_with_its_line_and_runs_nothing(
    run: Run, write: Write
) -> None:
    write(
        "app.py",
        """\
        import snodo

        server = snodo.Server("wrong", version="1")


        @server.tool
        def first(*args: int) -> str:
            raise AssertionError("ran")


        @server.tool(name="second", input_schema={"type": "strnig"})
        def second(arguments: dict) -> str:
            raise AssertionError("ran")


        class Third(snodo.Tool):
            name = "third"
            input_schema = {"type": "array"}

            def call(self, arguments, context):
                raise AssertionError("ran")


        @server.tool
        def good(a: int) -> str:
            return "fine"
        """,
    )
    done = run("check", "app.py")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stdout
    for line, name in zip(lines, ("first", "second", "Third"), strict=True):
        assert re.search(r"app\.py:\d+: ", line), line
        assert name in line
    assert "3 wrong declarations" in done.stderr
    assert "ran" not in done.stdout + done.stderr


def test_serve_prints_a_wrong_declaration_in_one_line(run: Run, write: Write) -> None:
    write(
        "app.py",
        "from snodo import Server\ns = Server('s', version='1')\n@s.tool\ndef f(*a): ...\n",
    )
    done = run("serve", "app.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match(r"snodo: .*app\.py:\d+: .*'f'", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1


# --- serve -------------------------------------------------------------------------------------


@pytest.fixture
def serve(tmp_path: Path, write: Write) -> Iterator[Serve]:
    """Starts `serve` on the greeter; gives its first lines on standard error and the process."""
    started: list[subprocess.Popen[str]] = []
    write("app.py", GREETER)

    def serve(*arguments: str, **env: str) -> "tuple[TextIO, subprocess.Popen[str]]":
        server = subprocess.Popen(
            [sys.executable, "-m", "snodo", "serve", "app.py", *arguments],
            cwd=tmp_path,
            env={**clean_environment(), **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(server)
        assert server.stderr is not None
        return server.stderr, server

    yield serve
    for server in started:
        server.kill()
        server.communicate(timeout=15)


def test_serve_says_url_revisions_and_counts_in_one_line(serve: Serve) -> None:
    stderr, server = serve("--port", "0", "--path", "/tools")
    line = stderr.readline()
    assert re.fullmatch(
        r"snodo: greeter 1\.2\.3 on http://127\.0\.0\.1:\d+/tools "
        r"\(MCP 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; 1 tool\)\n",
        line,
    ), line
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=15)
    assert (server.returncode, out) == (0, "")
    assert "Traceback" not in err


def test_serve_warns_when_others_can_reach_it(serve: Serve) -> None:
    stderr, _ = serve(SNODO_HOST="0.0.0.0", SNODO_PORT="0")
    stderr.readline()
    assert "warning: 0.0.0.0 is reachable from other machines" in stderr.readline()


def test_serve_logs_json_when_asked(serve: Serve) -> None:
    stderr, _ = serve("--port", "0", "--log-format", "json")
    entry = json.loads(stderr.readline())
    assert entry["level"] == "info"
    assert "http://127.0.0.1:" in entry["message"]


def test_a_taken_port_is_one_line(serve: Serve, run: Run) -> None:
    stderr, _ = serve("--port", "0")
    port = re.search(r":(\d+)/", stderr.readline())
    assert port
    done = run("serve", "app.py", "--port", port[1])
    assert done.returncode == 1
    assert f"127.0.0.1:{port[1]}" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_stdio_keeps_standard_output_for_the_protocol(run: Run, write: Write) -> None:
    noisy = """
import os, subprocess
print("import")
os.write(1, b"descriptor\\n")
subprocess.run(["echo", "child"])
"""
    write("app.py", noisy + GREETER)
    ask = message("tools/call", name="greet", arguments={"name": "Ada"})
    done = run("serve", "app.py", "--stdio", stdin=ask)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["content"][0]["text"] == "Hello, Ada!"
    for word in ("import", "descriptor", "child", "snodo: greeter 1.2.3 on stdio"):
        assert word in done.stderr


def test_the_variable_stands_for_the_flag(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    done = run("serve", "app.py", stdin=message("tools/list"), env={"SNODO_STDIO": "1"})
    assert json.loads(done.stdout)["result"]["tools"][0]["name"] == "greet"


def test_the_guarded_run_serves_stdio_when_input_is_a_pipe(tmp_path: Path, write: Write) -> None:
    path = write("app.py", GREETER + '\nif __name__ == "__main__":\n    server.run()\n')
    done = subprocess.run(
        [sys.executable, str(path)],
        input=message("tools/list"),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert json.loads(done.stdout)["result"]["tools"][0]["name"] == "greet", done.stderr


# --- the log -----------------------------------------------------------------------------------


def test_a_stuck_standard_error_costs_log_lines_and_never_waits() -> None:
    from snodo._logging import StderrHandler

    reader, writer = os.pipe()
    handler = StderrHandler(descriptor=writer)
    began = time.monotonic()
    for _ in range(5000):
        handler.say("x" * 1000)
    assert time.monotonic() - began < 20
    # Once somebody reads again, the loss is told.
    received = b""
    while b"log lines dropped" not in received:
        received += os.read(reader, 65536)
        handler.say("more")


def test_the_root_logger_is_left_alone(run: Run, write: Write) -> None:
    report = """
import logging, atexit
atexit.register(lambda: print("handlers", logging.getLogger().handlers, logging.getLogger().level))
"""
    write("app.py", report + GREETER)
    done = run("serve", "app.py", "--stdio", stdin=message("tools/list"))
    assert "handlers [] 30" in done.stderr


# --- a policy and the commands that look at a server --------------------------------------------

GUARDED = """
from snodo import Context, Error, Server

def roles(context):
    return context.auth["roles"]

{form} policy(phase, component, context):
    if component.name == "wipe" and "admin" not in roles(context):
        return Error.authorization(-32003, "Admins only")

server = Server("guarded", authorize=policy)

@server.tool
def search() -> str:
    return "found"

@server.tool
def wipe(context: Context) -> str:
    return f"wiped by {{context.auth['user']}}"
"""


@pytest.mark.parametrize("form", ["def", "async def"])
@pytest.mark.parametrize("command", ["inspect", "check"])
def test_a_policy_is_not_asked_what_there_is(
    run: Run, write: Write, command: str, form: str
) -> None:
    write("app.py", GUARDED.format(form=form))
    done = run(command, "app.py")
    assert done.returncode == 0, done.stderr
    assert "search()" in done.stdout
    assert "wipe()" in done.stdout
    assert "Server(authorize=...) narrows this for each caller" in done.stdout


AROUND = """
from functools import partial
from snodo import Extension, Server, auth
from snodo.extension import method
from snodo.middleware import cache, concurrency, rate_limit, response_limit, retry, timeout

class Jobs(Extension):
    id = "com.example/jobs"

    @method("jobs/get")
    def get(self, params, context):
        return {}

    @method("jobs/stop")
    def stop(self, params, context):
        return {}

def timing(context, arguments, call_next):
    return call_next()

class Tag:
    async def __call__(self, context, arguments, call_next):
        return await call_next()

server = Server(
    "around",
    extensions=[Jobs()],
    middleware=[timing, rate_limit(5), Tag()],
    authenticate=auth.bearer({"s3cr3t": "ada"}),
    authorize=auth.require_scopes(),
    conceal_refusals=True,
)

@server.tool(middleware=[cache(5), retry(), timeout(1), concurrency(), response_limit(9)])
def add(a: int) -> str:
    return str(a)

@server.prompt(middleware=[partial(timing)])
def ask() -> str:
    return "?"
"""


def test_what_is_around_the_components_is_told(run: Run, write: Write) -> None:
    write("app.py", AROUND)
    text = run("inspect", "app.py").stdout
    assert text == run("check", "app.py").stdout
    for lines in (
        "extensions (1)\n  com.example/jobs  (MCP 2026-07-28)\n      jobs/get, jobs/stop\n\n",
        "middleware\n  server: timing, rate_limit, Tag\n"
        "  tool add: cache, retry, timeout, concurrency, response_limit\n"
        "  prompt ask: timing\n\n",
        "access\n  authenticate: snodo.auth.bearer(1 key)\n"
        "  authorize: snodo.auth.require_scopes, which conceals what it refuses\n\n",
    ):
        assert lines in text, text
    offer = json.loads(run("inspect", "app.py", "--format", "json").stdout)
    versions, methods = ["2026-07-28"], ["jobs/get", "jobs/stop"]
    assert offer["extensions"] == [
        {"id": "com.example/jobs", "versions": versions, "methods": methods}
    ]
    assert offer["middleware"]["prompt ask"] == ["timing"]
    assert set(offer["access"]) == {"authenticate", "authorize"}
    page = run("inspect", "app.py", "--format", "markdown").stdout
    assert "| `com.example/jobs` | 2026-07-28 | jobs/get, jobs/stop |" in page
    assert "## Middleware\n\n| around | by |" in page
    assert "| authenticate | snodo.auth.bearer(1 key) |" in page
    assert "s3cr3t" not in text + page + json.dumps(offer)


def test_what_is_not_there_is_not_told(run: Run, write: Write) -> None:
    write("app.py", GREETER)
    for form in ("text", "markdown", "json"):
        said = run("inspect", "app.py", "--format", form).stdout.lower()
        assert not [word for word in ("extension", "middleware", "access") if word in said]
    write("own.py", "from snodo import Server\ndef who(request): ...\n"
        "server = Server('x', authenticate=who)\n")  # fmt: skip
    assert "access\n  authenticate: who" in run("inspect", "own.py").stdout


@pytest.mark.parametrize("form", ["def", "async def"])
def test_call_is_made_as_who_the_environment_says(run: Run, write: Write, form: str) -> None:
    write("app.py", GUARDED.format(form=form))
    ada = {"SNODO_PRINCIPAL": '{"user": "ada", "roles": ["admin"]}'}
    assert run("call", "app.py", "wipe", env=ada).stdout == "wiped by ada\n"
    bob = {"SNODO_PRINCIPAL": '{"user": "bob", "roles": []}'}
    refused = run("call", "app.py", "wipe", env=bob)
    assert refused.returncode == 1
    assert refused.stderr == "snodo: error -32003: Admins only\n"
    nobody = run("call", "app.py", "wipe")
    assert nobody.returncode == 1
    assert "snodo: error -32603" in nobody.stderr


def test_access_lines_of_several_processes_say_whose_they_are() -> None:
    import logging

    from snodo._logging import ACCESS, StderrHandler

    reader, writer = os.pipe()
    try:
        handler = StderrHandler(descriptor=writer, pid=True)
        line = '{"transport":"http","status":200}'
        handler.emit(logging.LogRecord(ACCESS, logging.INFO, "", 0, line, None, None))
        told = json.loads(os.read(reader, 4096))
        assert told == {"transport": "http", "status": 200, "pid": os.getpid()}
    finally:
        os.close(reader)
