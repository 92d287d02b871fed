// Answers all a server asks, with the official TypeScript client; prints what it heard as one JSON object.
//
//   node interaction.mjs http URL
//   node interaction.mjs stdio COMMAND ARGUMENT…

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [kind, target, ...rest] = process.argv.slice(2);
const transport =
    kind === 'http'
        ? new StreamableHTTPClientTransport(new URL(target))
        : new StdioClientTransport({ command: target, args: rest, stderr: 'inherit' });

const client = new Client(
    { name: 'interop', version: '1.0.0' },
    {
        versionNegotiation: { mode: 'auto' },
        capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
    }
);

const asked = [];
client.setRequestHandler('elicitation/create', async request => {
    const { mode, message, url, requestedSchema } = request.params;
    asked.push(url ?? message);
    if (mode === 'url') return { action: 'accept' };
    if (message === 'Would you decline?') return { action: 'decline' };
    if ('item' in requestedSchema.properties) {
        return { action: 'accept', content: { item: 'tea', count: 2, size: 's', gift: true } };
    }
    return { action: 'accept', content: { value: `word${asked.length}` } };
});
client.setRequestHandler('sampling/createMessage', async request => {
    asked.push(request.params.messages[0].content.text);
    return { role: 'assistant', content: { type: 'text', text: 'glad' }, model: 'm', stopReason: 'endTurn' };
});
client.setRequestHandler('roots/list', async () => {
    asked.push('roots');
    return { roots: [{ uri: 'file:///home/ada', name: 'Home' }, { uri: 'file:///tmp' }] };
});

const log = [];
client.setNotificationHandler('notifications/message', notification => {
    const { level, logger, data } = notification.params;
    log.push({ level, logger, data });
});
const changes = [];
const waiting = [];
const change = what => {
    changes.push(what);
    waiting.splice(0).forEach(wake => wake());
};
client.setNotificationHandler('notifications/tools/list_changed', () => change('tools'));
client.setNotificationHandler('notifications/prompts/list_changed', () => change('prompts'));
client.setNotificationHandler('notifications/resources/updated', notification =>
    change(notification.params.uri)
);
const changed = async count => {
    while (changes.length < count) await new Promise(wake => waiting.push(wake));
};

await client.connect(transport);

async function interview(tool) {
    asked.length = 0;
    const result = await client.callTool({ name: tool, arguments: {} });
    return { said: result.content[0].text, asked: [...asked] };
}

const tools = ['form', 'url', 'sample', 'list_roots', 'together', 'rounds', 'decline', 'state_alone'];
const interviews = {};
for (const tool of tools) interviews[tool] = await interview(tool);

asked.length = 0;
const secret = await client.readResource({ uri: 'secret://recipe' });
asked.length = 0;
const advice = await client.getPrompt({ name: 'advise', arguments: { topic: 'tea' } });

const progress = [];
const work = { name: 'works', arguments: { until_heard: true } };
await client.callTool(
    { ...work, _meta: { 'io.modelcontextprotocol/logLevel': 'info' } },
    {
        onprogress: report => {
            progress.push([report.progress, report.total, report.message]);
            if (report.progress === 3) client.callTool({ name: 'hears', arguments: {} });
        }
    }
);
await client.callTool({ name: 'works', arguments: {} }); // asks for neither

const first = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://1'] });
await client.callTool({ name: 'announce', arguments: { uri: 'note://1' } });
await changed(2);
await first.close();
await client.callTool({ name: 'announce', arguments: { uri: 'note://1' } }); // to nobody
const second = await client.listen({ promptsListChanged: true, resourceSubscriptions: ['note://2'] });
await client.callTool({ name: 'announce', arguments: { uri: 'note://2' } });
await changed(3);
await client.callTool({ name: 'complete', arguments: {} });

console.log(
    JSON.stringify({
        interviews,
        secret: secret.contents[0].text,
        advice: advice.messages[0].content.text,
        progress,
        log,
        honored: [first.honoredFilter, second.honoredFilter],
        changes,
        ends: [await first.closed, await second.closed]
    })
);
await client.close();
