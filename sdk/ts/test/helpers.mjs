// What the tests of this folder share. Each file tests the built package, whose index.js DIRECTOR_SDK names.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const built = new URL('./', pathToFileURL(process.env.DIRECTOR_SDK));

export const sdk = await import(new URL('index.js', built));
/** Imports a module that the package does not export. */
export const internal = (name) => import(new URL(name, built));
export { built };

/** Starts a server that stands in for a director. It records the requests, and ends with the test. */
export async function serve(t, handler) {
  const requests = [];
  const server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (text) => (body += text));
    req.on('end', () => {
      requests.push({ method: req.method, path: req.url, headers: req.headers, body, at: performance.now() });
      handler(req, res, requests.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests, close: () => (server.close(), server.closeAllConnections()) };
}

export function answer(res, status, document, headers = {}) {
  res.writeHead(status, { 'Content-Type': status < 300 ? 'application/json' : 'application/problem+json', ...headers });
  res.end(JSON.stringify(document));
}

export const refuse = (res, status, code, headers = {}, more = {}) =>
  answer(res, status, { type: `/docs#${code}`, title: code, status, detail: `because ${code}`, code, request_id: 'r1', ...more }, { 'X-Request-Id': 'r1', ...headers });

/** Answers with a stream of events that stays open. */
export function stream(res, ...events) {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' });
  res.flushHeaders();
  for (const event of events) res.write(typeof event === 'string' ? event : text(event));
}

/** An event as the director sends it. */
export const text = (ticket) => `event: ${ticket.state}\nid: ${ticket.version}\ndata: ${JSON.stringify(ticket)}\n\n`;

export const match = { session_id: 'eu.s1', session_handle: 'eu.h1', endpoint: '203.0.113.7:7777', region: 'eu', mode: 'duel', player_count: 1, max_players: 8 };
export const ticket = (version, state = 'queued', more = {}) => ({ ticket_id: 't1', state, version, party: ['alice'], ...more });

/** Options with pauses that are short. */
export const quick = { firstBackoff: 5, maxBackoff: 20 };
export const player = (urls, options = {}) => new sdk.Player({ urls, token: 'access', ...quick, ...options });

/** Collects what an iteration yields, "state version" each. */
export async function collect(states) {
  const seen = [];
  for await (const { state, version } of states) seen.push(`${state} ${version}`);
  return seen;
}

/** Returns the bytes of built files, minified and compressed together. */
export async function compressed(names) {
  const { minify } = createRequire(`${process.env.DIRECTOR_SDK_MODULES}/`)('terser');
  let all = '';
  for (const name of names) all += (await minify(await readFile(new URL(name, built), 'utf8'), { module: true, compress: { passes: 2 } })).code;
  return gzipSync(all, { level: 9 }).length;
}
