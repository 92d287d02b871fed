"""A server with an extension, for the cases of extensions."""

from typing import Any

from snodo import Context, Error, Extension, Result, Server
from snodo.extension import CallNext, Operation, method


class Jobs(Extension):
    id = "com.example/jobs"
    settings = {"kinds": ["work"]}  # noqa: RUF012 - never changed
    missing_capability = True
    result_types = ("job",)
    operations = ("tools/call",)

    @method("jobs/get", header=("Mcp-Name", "jobId"))
    def get(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
        if params["jobId"] != "jöb":
            raise Error.invalid_params("Unknown or inaccessible jobId")
        return {"jobId": params["jobId"], "status": "working"}

    @method("jobs/cancel")
    async def cancel(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
        return {}

    async def around(self, context: Context, operation: Operation, call_next: CallNext) -> Result:
        if self.id not in context.extensions:
            return await call_next()
        known = await call_next.check()
        if known is not None:
            return known
        return Result.wire({"resultType": "job", "jobId": "jöb", "status": "working"})


server = Server("wire", version="1.0.0", extensions=[Jobs()])


@server.tool
def works(n: int) -> str:
    """Work."""
    return f"worked {n}"
