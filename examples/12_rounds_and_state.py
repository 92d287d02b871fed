"""Rounds written out: questions as results, and state that the client carries and cannot read.

`ask` does all of this by itself. Written out, a tool decides what a round is and what is kept.

python examples/12_rounds_and_state.py --check
"""

import sys
from typing import Annotated

from snodo import Arg, Context, Result, Server, State, elicit

SECRET = "the first secret of the fleet, 32 bytes or more"

AMOUNT = elicit.form("How much?", {"amount": Annotated[int, Arg("In euros", ge=1, le=1_000)]})
CONFIRM = elicit.form("Are you sure?", bool)


def bank(secret: str | list[tuple[str, str]] | None = None) -> Server:
    """Make the server; every replica of a fleet has the same secret."""
    server = Server("bank", version="1.0.0", secret=secret)
    # Sealed with the server's secret, good for two minutes, for this tool, these arguments and
    # this caller.
    state = State(ttl=120)

    @server.tool
    def pay(to: str, context: Context) -> Result:
        """Pay somebody, asking how much and whether that is meant."""
        kept = state.open(context)  # None in the first round; raises if it is not ours
        if kept is None:
            return Result.input_required(
                input_requests={"amount": AMOUNT},
                request_state=state.seal({"step": "amount"}, context),
            )
        if kept["step"] == "amount":
            answer = AMOUNT.response(context, "amount")
            if answer is None:  # not answered: the same question again
                return Result.input_required(
                    input_requests={"amount": AMOUNT}, request_state=context.request_state
                )
            return Result.input_required(
                input_requests={"sure": CONFIRM},
                request_state=state.seal(
                    {"step": "sure", "amount": answer.value["amount"]}, context
                ),
            )
        answer = CONFIRM.response(context, "sure")
        if answer is None or not answer.accepted or not answer.value:
            return Result.error("Nothing was paid.")
        return Result.text(f"Paid {kept['amount']} euros to {to}.")

    return server


server = bank()


def check() -> None:
    import base64
    from typing import Any

    from _check import request

    amount = {"amount": {"action": "accept", "content": {"amount": 50}}}
    sure = {"sure": {"action": "accept", "content": {"value": True}}}

    def pay(server: Server, to: str = "Ada", **more: Any) -> dict[str, Any]:
        return request(server, "tools/call", name="pay", arguments={"to": to}, **more)

    def paid(answer: dict[str, Any]) -> bool:
        return bool(answer["result"]["content"][0]["text"] == "Paid 50 euros to Ada.")

    # Any replica takes any round: what they need is in the state, and the secret is the same.
    one, other = bank(SECRET), bank(SECRET)
    first = pay(one)["result"]
    assert list(first["inputRequests"]) == ["amount"]
    second = pay(other, inputResponses=amount, requestState=first["requestState"])["result"]
    assert list(second["inputRequests"]) == ["sure"]
    state = second["requestState"]
    assert paid(pay(one, inputResponses=sure, requestState=state))

    # The client sees nothing in it: sealed, not merely signed.
    sealed = state.rpartition(".")[2]
    assert b"amount" not in base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))

    # Altered, truncated, made up, or for other arguments: one error for all of them.
    for to, wrong in (("Eve", state), ("Ada", state[:-1]), ("Ada", f"{state}A"), ("Ada", "mine")):
        error = pay(one, to, inputResponses=sure, requestState=wrong)["error"]
        assert (error["code"], error["message"]) == (-32602, "Invalid or expired request state")
        assert "data" not in error

    # A server with a secret of its own knows nothing of these.
    assert "error" in pay(bank(), inputResponses=sure, requestState=state)

    # A new secret comes first and seals; an old one stays until what it sealed has expired.
    old, new = ("2026-11", SECRET), ("2026-12", "the second secret of the fleet, longer than 32")
    before, after = bank([old]), bank([new, old])
    state = pay(before)["result"]["requestState"]
    state = pay(after, inputResponses=amount, requestState=state)["result"]["requestState"]
    assert state.startswith("snodo1.2026-12.")
    assert paid(pay(after, inputResponses=sure, requestState=state))

    # What sealing does not do: the same state is good again until it expires. What may happen only
    # once needs a record of your own, here for example of payments made.
    assert paid(pay(after, inputResponses=sure, requestState=state))


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
