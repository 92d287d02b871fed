// Lists and calls tools with the official TypeScript client; prints what it got as one JSON object.
//
//   node client.mjs http URL
//   node client.mjs stdio COMMAND ARGUMENT…

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [kind, target, ...rest] = process.argv.slice(2);
const transport =
    kind === 'http'
        ? new StreamableHTTPClientTransport(new URL(target))
        : new StdioClientTransport({ command: target, args: rest, stderr: 'inherit' });

const client = new Client(
    { name: 'interop', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' } }
);
await client.connect(transport);

const listed = await client.listTools();
const greeting = await client.callTool({ name: 'greet', arguments: { name: 'Ada 茶' } });
const forecast = await client.callTool({ name: 'forecast', arguments: { city: 'Oslo', days: 2 } });
const wrong = await client.callTool({ name: 'greet', arguments: {} });
const unknown = await client
    .callTool({ name: 'nope', arguments: {} })
    .then(() => null, error => error.code ?? String(error));

console.log(
    JSON.stringify({
        version: client.getNegotiatedProtocolVersion(),
        server: client.getServerVersion(),
        instructions: client.getInstructions() ?? null,
        tools: listed.tools.map(tool => tool.name),
        greeting: greeting.content,
        forecast: forecast.structuredContent,
        wrong: wrong.isError,
        unknown
    })
);
await client.close();
