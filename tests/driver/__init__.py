"""How tests start a server and talk to it: over HTTP, over stdio, and without a transport.

Nothing here knows what an answer should be; that is each test's to say.
"""

from driver.direct import DirectSession
from driver.http import HttpReply, HttpServer, HttpSession, exchange, head, read_reply
from driver.messages import VERSION, Refusal, Session, meta, request
from driver.process import Process, wait_until
from driver.stdio import StdioServer, StdioSession

__all__ = [
    "VERSION",
    "DirectSession",
    "HttpReply",
    "HttpServer",
    "HttpSession",
    "Process",
    "Refusal",
    "Session",
    "StdioServer",
    "StdioSession",
    "exchange",
    "head",
    "meta",
    "read_reply",
    "request",
    "wait_until",
]
