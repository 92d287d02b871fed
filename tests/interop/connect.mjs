// Opens a connection with an official TypeScript client: one of the two generations, in one of the ways
// it may be told to find out what the server speaks.
//
//   auto          generation 2 probes for the newest revision
//   default       generation 2 as it is, without being told anything
//   2026-07-28    generation 2 pinned to it
//   2025-11-25    (or an older one) generation 2, which offers that alone
//   sdk-1         generation 1

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioClientTransport1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

const [way, kind, target, ...rest] = process.argv.slice(2);
const isFirst = way === 'sdk-1';

function options() {
    if (way === 'auto') return { versionNegotiation: { mode: 'auto' } };
    if (way === '2026-07-28') return { versionNegotiation: { mode: { pin: way } } };
    if (way.startsWith('20')) return { supportedProtocolVersions: [way] };
    return {};
}

// HTTP+SSE of 2024-11-05 is of generation 1.
const Http = kind === 'sse' ? SSEClientTransport : isFirst ? StreamableHTTPClientTransport1 : StreamableHTTPClientTransport;
const Stdio = isFirst ? StdioClientTransport1 : StdioClientTransport;
const transport =
    kind !== 'stdio'
        ? new Http(new URL(target))
        : new Stdio({ command: target, args: rest, stderr: 'inherit' });

/** A client that is not connected yet. */
export function create(capabilities = {}) {
    return new (isFirst ? Client1 : Client)(
        { name: 'interop', version: '1.0.0' },
        { capabilities, ...options() }
    );
}

export async function connect(client) {
    await client.connect(transport);
    return client;
}

/** What was agreed on. Generation 1 does not tell over stdio. */
export function revision(client) {
    return isFirst ? (transport.protocolVersion ?? null) : client.getNegotiatedProtocolVersion();
}

/** Whether the revision opens with a handshake. */
export function shakesHands(client) {
    return isFirst || revision(client) !== '2026-07-28';
}

/** Calls a tool with options of the request. */
export function callWith(client, params, options) {
    return isFirst ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

const SCHEMAS = {
    'elicitation/create': types.ElicitRequestSchema,
    'sampling/createMessage': types.CreateMessageRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
    'notifications/message': types.LoggingMessageNotificationSchema,
    'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
    'notifications/prompts/list_changed': types.PromptListChangedNotificationSchema,
    'notifications/resources/updated': types.ResourceUpdatedNotificationSchema
};

/** Handles a request or notification of the server. */
export function on(client, method, handler) {
    const kind = method.startsWith('notifications/') ? 'setNotificationHandler' : 'setRequestHandler';
    client[kind](isFirst ? SCHEMAS[method] : method, handler);
}
