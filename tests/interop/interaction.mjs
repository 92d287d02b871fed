// Answers all a server asks, with an official TypeScript client; prints what it heard as one JSON object.
//
//   node interaction.mjs WAY http|sse URL
//   node interaction.mjs WAY stdio COMMAND ARGUMENT…

import { callWith, connect, create, on, shakesHands } from './connect.mjs';

const client = create({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });

const asked = [];
on(client, 'elicitation/create', async request => {
    const { mode, message, url, requestedSchema } = request.params;
    asked.push(url ?? message);
    if (mode === 'url') return { action: 'accept' };
    if (message === 'Would you decline?') return { action: 'decline' };
    if ('item' in requestedSchema.properties) {
        return { action: 'accept', content: { item: 'tea', count: 2, size: 's', gift: true } };
    }
    return { action: 'accept', content: { value: `word${asked.length}` } };
});
on(client, 'sampling/createMessage', async request => {
    asked.push(request.params.messages[0].content.text);
    return { role: 'assistant', content: { type: 'text', text: 'glad' }, model: 'm', stopReason: 'endTurn' };
});
on(client, 'roots/list', async () => {
    asked.push('roots');
    return { roots: [{ uri: 'file:///home/ada', name: 'Home' }, { uri: 'file:///tmp' }] };
});

const log = [];
on(client, 'notifications/message', notification => {
    const { level, logger, data } = notification.params;
    log.push({ level, logger, data });
});
const changes = [];
const waiting = [];
const change = what => {
    changes.push(what);
    waiting.splice(0).forEach(wake => wake());
};
on(client, 'notifications/tools/list_changed', () => change('tools'));
on(client, 'notifications/prompts/list_changed', () => change('prompts'));
on(client, 'notifications/resources/updated', notification =>
    change(notification.params.uri)
);
const changed = async count => {
    while (changes.length < count) await new Promise(wake => waiting.push(wake));
};

await connect(client);
const handshake = shakesHands(client);

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

if (handshake) await client.setLoggingLevel('info');
const progress = [];
const work = { name: 'works', arguments: { until_heard: true } };
const onprogress = report => {
    progress.push([report.progress, report.total, report.message]);
    if (report.progress === 3) client.callTool({ name: 'hears', arguments: {} });
};
const level = handshake ? {} : { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } };
await callWith(client, { ...work, ...level }, { onprogress });
if (handshake) await client.setLoggingLevel('error');
await client.callTool({ name: 'works', arguments: {} }); // asks for neither

const announce = uri => client.callTool({ name: 'announce', arguments: { uri } });
let subscriptions = {};
if (handshake) {
    await client.subscribeResource({ uri: 'note://1' });
    await announce('note://1');
    await changed(2);
    await client.unsubscribeResource({ uri: 'note://1' });
    await announce('note://1'); // the tools alone
    await changed(3);
    await client.subscribeResource({ uri: 'note://2' });
    await announce('note://2');
    await changed(5);
} else {
    const first = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://1'] });
    await announce('note://1');
    await changed(2);
    await first.close();
    await announce('note://1'); // to nobody
    const second = await client.listen({ promptsListChanged: true, resourceSubscriptions: ['note://2'] });
    await announce('note://2');
    await changed(3);
    await client.callTool({ name: 'complete', arguments: {} });
    subscriptions = {
        honored: [first.honoredFilter, second.honoredFilter],
        ends: [await first.closed, await second.closed]
    };
}

console.log(
    JSON.stringify({
        interviews,
        secret: secret.contents[0].text,
        advice: advice.messages[0].content.text,
        progress,
        log,
        changes,
        ...subscriptions
    })
);
await client.close();
