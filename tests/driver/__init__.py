"""How tests start a server and talk to it: over HTTP, over stdio, and without a transport.

Nothing here knows what an answer should be; that is each test's to say.
"""

from driver.asgi import AsgiServer, AsgiSession
from driver.conversation import Conversation, Events, HttpConversation
from driver.direct import DirectSession
from driver.handshake import (
    HANDSHAKES,
    INITIALIZED,
    Handshake,
    HttpHandshake,
    SseHandshake,
    StdioHandshake,
    initialize,
    list_everything,
)
from driver.http import HttpReply, HttpServer, HttpSession, exchange, head, read_reply
from driver.messages import (
    ABLE,
    SUBSCRIPTION,
    VERSION,
    ProcessSession,
    Refusal,
    Session,
    event,
    meta,
    request,
)
from driver.process import Process, wait_until
from driver.stdio import StdioServer, StdioSession

__all__ = [
    "ABLE",
    "HANDSHAKES",
    "INITIALIZED",
    "SUBSCRIPTION",
    "VERSION",
    "AsgiServer",
    "AsgiSession",
    "Conversation",
    "DirectSession",
    "Events",
    "Handshake",
    "HttpConversation",
    "HttpHandshake",
    "HttpReply",
    "HttpServer",
    "HttpSession",
    "Process",
    "ProcessSession",
    "Refusal",
    "Session",
    "SseHandshake",
    "StdioHandshake",
    "StdioServer",
    "StdioSession",
    "event",
    "exchange",
    "head",
    "initialize",
    "list_everything",
    "meta",
    "read_reply",
    "request",
    "wait_until",
]
