// Uses all a server has with an official TypeScript client; prints what it got as one JSON object.
//
//   node client.mjs WAY http|sse URL
//   node client.mjs WAY stdio COMMAND ARGUMENT…

import { connect, create, revision } from './connect.mjs';

const client = await connect(create());

const codeOf = failing => failing.then(() => null, error => error.code ?? String(error));

const listed = await client.listTools();
const greeting = await client.callTool({ name: 'greet', arguments: { name: 'Ada 茶' } });
const forecast = await client.callTool({ name: 'forecast', arguments: { city: 'Oslo', days: 2 } });
const wrong = await client.callTool({ name: 'greet', arguments: {} });
const unknown = await codeOf(client.callTool({ name: 'nope', arguments: {} }));

const resources = await client.listResources();
const templates = await client.listResourceTemplates();
const cities = await client.readResource({ uri: 'weather://cities' });
const map = await client.readResource({ uri: 'weather://map' });
const today = await client.readResource({ uri: 'weather://S%C3%A3o%20Paulo/today' });
const notFound = await codeOf(client.readResource({ uri: 'weather://nowhere' }));

const prompts = await client.listPrompts();
const prompt = await client.getPrompt({
    name: 'advise',
    arguments: { city: 'Oslo', mood: 'sunny' }
});
const missing = await codeOf(client.getPrompt({ name: 'advise', arguments: {} }));

const city = await client.complete({
    ref: { type: 'ref/resource', uri: 'weather://{city}/today' },
    argument: { name: 'city', value: 'O' }
});
const mood = await client.complete({
    ref: { type: 'ref/prompt', name: 'advise' },
    argument: { name: 'mood', value: 's' },
    context: { arguments: { city: 'Oslo' } }
});

console.log(
    JSON.stringify({
        version: revision(client),
        server: client.getServerVersion(),
        instructions: client.getInstructions() ?? null,
        tools: listed.tools.map(tool => tool.name),
        greeting: greeting.content,
        forecast: forecast.structuredContent,
        wrong: wrong.isError,
        unknown,
        resources: resources.resources,
        templates: templates.resourceTemplates,
        read: [cities, map, today].flatMap(result => result.contents),
        notFound,
        prompts: prompts.prompts,
        prompt: prompt.messages,
        missing,
        city: city.completion,
        mood: mood.completion
    })
);
await client.close();
