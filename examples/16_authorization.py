"""Who sends a request, and what they may see and use: keys, a policy, and three callers.

python examples/16_authorization.py --check
"""

import sys
from typing import Literal

from snodo import Context, Error, Server, auth

KEYS = {
    "key-of-astrid": {"user": "astrid", "scopes": ["desk"]},
    "key-of-bo": {"user": "bo", "scopes": []},
}
scoped = auth.require_scopes()


def policy(
    phase: Literal["discovery", "invocation"], component: auth.Component, context: Context
) -> Error | None:
    """Give readers the books, whoever has the scope the desk, and everybody their own loans."""
    caller = context.auth or {}
    # Of a template the URI that is asked for is known, once somebody asks for one.
    if component.name == "loans" and component.requested_uri is not None:
        own = f"library://loans/{caller.get('user')}"
        if component.requested_uri != own and "desk" not in caller.get("scopes", []):
            return Error.authorization(-32003, "Not your loans")
    return scoped(phase, component, context)


server = Server(
    "library",
    version="1.0.0",
    authenticate=auth.bearer(KEYS),
    authorize=policy,
)
loans = {"bo": ["Pippi"]}


@server.tool
def borrow(book: str, context: Context) -> str:
    """Borrow a book."""
    loans.setdefault(context.auth["user"], []).append(book)
    return f"{book} is yours until Friday."


@server.tool(metadata={"scopes": "desk"})
def forgive(user: str) -> str:
    """Forget what somebody has borrowed."""
    loans.pop(user, None)
    return "Forgiven."


@server.resource("library://loans/{user}", name="loans")
def loans_of(user: str) -> list[str]:
    """What somebody has borrowed."""
    return loans.get(user, [])


def check() -> None:
    import json
    import urllib.error
    import urllib.request
    from typing import Any

    from _check import message, request, served

    def ask(caller: Any, method: str, **params: Any) -> Any:
        answer = server.handle(message(method, **params), auth=caller)
        assert answer is not None
        return answer.get("result") or answer["error"]

    astrid, bo = KEYS["key-of-astrid"], KEYS["key-of-bo"]

    # They see different servers.
    def tools(caller: Any) -> list[str]:
        return [tool["name"] for tool in ask(caller, "tools/list")["tools"]]

    assert tools(astrid) == ["borrow", "forgive"]
    assert tools(bo) == tools(None) == ["borrow"]

    # A refusal comes before the arguments are looked at.
    refused = ask(bo, "tools/call", name="forgive", arguments={"no": "such argument"})
    assert refused == {
        "code": -32003,
        "message": "Insufficient scope",
        "data": {"requiredScopes": ["desk"]},
    }
    assert (
        ask(astrid, "tools/call", name="forgive", arguments={"user": "nobody"})["isError"] is False
    )

    # The same template, another URI.
    own = ask(bo, "resources/read", uri="library://loans/bo")["contents"][0]
    assert json.loads(own["text"]) == ["Pippi"]
    assert ask(bo, "resources/read", uri="library://loans/astrid")["message"] == "Not your loans"
    assert "contents" in ask(astrid, "resources/read", uri="library://loans/bo")

    # What one caller may see is not for another one's cache.
    assert request(server, "tools/list")["result"]["cacheScope"] == "private"

    # Over HTTP the key says who it is.
    def post(url: str, **headers: str) -> tuple[int, Any, Any]:
        body = message("tools/call", name="borrow", arguments={"book": "Emil"})
        meta = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "borrow",
        }
        sent = urllib.request.Request(url, json.dumps(body).encode(), {**meta, **headers})
        try:
            with urllib.request.urlopen(sent, timeout=10) as reply:
                return reply.status, reply.headers, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, json.load(error)

    with served(__file__) as url:
        status, _, answer = post(url, Authorization="Bearer key-of-bo")
        assert status == 200
        assert answer["result"]["content"][0]["text"] == "Emil is yours until Friday."
        for headers in ({}, {"Authorization": "Bearer key-of-b"}):
            status, told, answer = post(url, **headers)
            assert status == 401
            assert told["WWW-Authenticate"] == "Bearer"
            assert answer["error"]["message"] == "Authentication required"


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
