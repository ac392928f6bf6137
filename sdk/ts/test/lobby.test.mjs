// The lobby's client with sockets that stand in for a replica: lost answers, silence, hostile frames.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { built, compressed, internal } from './helpers.mjs';

const { Lobby, LobbyError, UncertainError, EndedError } = await internal('lobby/index.js');
const { patched, snapshot } = await internal('lobby/state.js');

const welcome = { t: 'handshake.ok', p: { session_id: 's-1', resumed: false } };

/** Returns a class of WebSockets: `script` gets each frame that the client sends, and a function that answers it. */
function sockets(script) {
  const made = [];
  class Standin {
    constructor(url) {
      made.push(this);
      this.url = url;
      this.sent = [];
      setTimeout(() => this.onopen?.(), 0);
    }
    send(text) {
      const frame = JSON.parse(text);
      this.sent.push(frame);
      setTimeout(() => script(frame, (answer) => this.onmessage?.({ data: typeof answer === 'string' ? answer : JSON.stringify({ v: 1, ...answer }) }), this, made.length), 0);
    }
    close() {
      this.closed = true;
    }
    drop(code = 1006) {
      this.onclose?.({ code, reason: '' });
    }
  }
  return { Standin, made };
}

/** Aborts later, and keeps the process alive until then: nothing else does, without real sockets. */
const after = (milliseconds) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('too late')), milliseconds);
  return { signal: controller.signal };
};

const options = (WebSocket, more = {}) => ({ urls: ['ws://a', 'ws://b'], token: 't', WebSocket, firstBackoff: 1, maxBackoff: 5, ...more });
const ok = (rid, more = {}) => ({ t: 'rpc.response', rid, p: { ok: true, ...more } });

async function enter(t, script, more) {
  const { Standin, made } = sockets((frame, answer, socket, n) => (frame.t ? script(frame, answer, socket, n) : answer(welcome)));
  const lobby = await Lobby.connect(options(Standin, more));
  t.after(() => lobby.close());
  return { lobby, made };
}

test('a lost answer repeats what may be carried out twice, and nothing else', async (t) => {
  const asked = [];
  const { lobby, made } = await enter(t, (frame, answer, socket) => {
    asked.push(frame.t);
    if (asked.length % 2 === 1) socket.drop();
    else answer(ok(frame.rid, { removed: true }));
  });
  assert.equal(await lobby.dequeue(), true);
  await assert.rejects(lobby.room('r').say('x'), (err) => err instanceof UncertainError && err.call === 'room.message say');
  assert.deepEqual(asked, ['matchmaking.dequeue', 'matchmaking.dequeue', 'room.message']);
  assert.equal(new Set(made.map(({ url }) => url)).size, 2, 'the next replica');
});

test('frames that no director sends end nothing', async (t) => {
  const garbage = ['{]', 'null', '[]', '{"v":1}', { t: 'rpc.response', rid: '99' }, { t: 'state.patch', room: 'r', p: 7 }, { t: 'state.snapshot', room: 'r', p: { seq: 'x' } },
    { t: 'room.members', room: 'r', p: [] }, { t: 'room.left', room: 'r' }, { t: 'news', room: 'r', p: { a: 1 } }];
  const { lobby, made } = await enter(t, (frame, answer) => {
    garbage.forEach(answer);
    answer(ok(frame.rid));
  });
  const frames = [];
  lobby.on('frame', (frame) => frames.push(frame));
  await lobby.request('echo');
  assert.deepEqual(frames, [{ t: 'news', room: 'r', p: { a: 1 } }]);
  assert.equal(made.length, 1);
  assert.deepEqual(lobby.rooms, []);
});

test('a refusal is an error, and the pause that it asks for is kept', async (t) => {
  let asked = 0;
  const refuse = (frame, answer) => answer({ t: 'rpc.response', rid: frame.rid, p: { ok: false, error: 'rate limited', code: 'rate_limited', hint: 'later', retry_after_ms: 100 } });
  const { lobby } = await enter(t, (frame, answer) => (++asked < 3 ? refuse(frame, answer) : answer(ok(frame.rid))));
  await assert.rejects(lobby.room('r').say('x'), (err) => err instanceof LobbyError && err.message === 'room.message say: rate limited (rate_limited): later' && err.retryAfter === 100);
  const began = performance.now();
  await lobby.room('r').ready(true);
  assert.ok(performance.now() - began >= 100);
});

test('a patch whose predecessor is missing asks for a snapshot', async (t) => {
  const patch = (seq, ...ops) => ({ t: 'state.patch', room: 'r', p: { seq, ops } });
  const { lobby, made } = await enter(t, (frame, answer) => {
    if (frame.t === 'state.resync') answer({ t: 'state.snapshot', room: 'r', p: { seq: 7, state: { x: 1 } } });
    if (frame.t !== 'echo') return;
    answer({ t: 'state.snapshot', room: 'r', p: { seq: 2, state: { 'a/b~': 1, gone: 1 } } });
    answer(patch(2, { op: 'set', path: '/old', value: 1 }));
    answer(patch(3, { op: 'set', path: '/a~1b~0', value: 5 }, { op: 'del', path: '/gone' }));
    answer(ok(frame.rid));
    answer(patch(5, { op: 'set', path: '/x', value: 9 }));
  });
  const states = [];
  lobby.room('r').on('state', (state) => states.push({ ...state }));
  await lobby.request('echo');
  while (states.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(states, [{ 'a/b~': 1, gone: 1 }, { 'a/b~': 5 }, { x: 1 }]);
  assert.deepEqual(made[0].sent.slice(1).map(({ t: type, p }) => [type, p.seq]), [['echo', undefined], ['state.ack', 2], ['state.ack', 3], ['state.resync', undefined], ['state.ack', 7]]);
});

test('a repeated message that was heard is not heard twice', async (t) => {
  const say = (id, more) => ({ t: 'room.message', room: 'r', p: { type: 'say', data: id, id, ...more } });
  const { lobby } = await enter(t, (frame, answer) => {
    for (const id of ['1.0', '1.1', '9.0', '10.0']) answer(say(id));
    for (const id of ['9.0', '10.0', '10.1', '11.0']) answer(say(id, { repeated: true }));
    answer(say('12.0'));
    answer(ok(frame.rid));
  });
  const heard = [];
  lobby.room('r').on('message', ({ data }) => heard.push(data));
  await lobby.request('echo');
  assert.deepEqual(heard, ['1.0', '1.1', '9.0', '10.0', '10.1', '11.0', '12.0']);
});

// Pins frames that are lost because they arrive in one piece with the answer to the handshake, before the client listens.
test('frames right behind the handshake are heard', async (t) => {
  const { Standin, made } = sockets((frame, answer) => {
    if (frame.t) return;
    answer(welcome);
    answer({ t: 'room.invited', room: 'p', p: { room: 'p' } });
    answer({ t: 'state.snapshot', room: 'r', p: { seq: 3, state: { x: 1 } } });
  });
  const lobby = await Lobby.connect(options(Standin));
  t.after(() => lobby.close());
  assert.deepEqual(await new Promise((resolve) => lobby.on('invited', resolve)), { room: 'p' });
  assert.equal(lobby.rooms[0]?.state.x, 1);
  assert.deepEqual(made[0].sent[1], { v: 1, t: 'state.ack', room: 'r', p: { seq: 3 } });
});

test('a watched list changes, and is asked for again on the next connection', async (t) => {
  let searches = 0;
  const { lobby, made } = await enter(t, (frame, answer) => {
    if (frame.t !== 'room.list') return;
    searches++;
    answer(ok(frame.rid, { rooms: [{ id: 'a', members: searches }, { id: 'b', members: 1 }] }));
    answer({ t: 'room.list.changed', p: { room_type: 'lobby', rooms: [{ id: 'c', members: 1 }], removed: ['b'] } });
  });
  const lists = [];
  const stop = await lobby.watchRooms({ room_type: 'lobby' }, (rooms) => lists.push(rooms.map(({ id, members }) => id + members).join(' ')));
  assert.deepEqual(made[0].sent[1].p, { room_type: 'lobby', subscribe: true });
  assert.deepEqual(lists, ['a1 c1'], 'what arrived in one piece with the answer is not lost');
  made[0].drop();
  while (lists.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(lists, ['a1 c1', 'a2 c1']);
  stop();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(made.at(-1).sent.at(-1).t, 'room.unlist');
});

test('keys of a state are only keys', () => {
  const state = patched(snapshot(JSON.parse('{"__proto__": {"a": 1}}')), [{ op: 'set', path: '/__proto__', value: { polluted: true } }, { op: 'set', path: '/constructor', value: 1 }]);
  assert.equal({}.polluted, undefined);
  assert.deepEqual(Object.keys(state), ['__proto__', 'constructor']);
});

test('a silent connection is replaced', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { Standin, made } = sockets((frame, answer) => (frame.t ? undefined : answer(welcome)));
  const connecting = Lobby.connect(options(Standin));
  const steps = async (times) => { // timers and promises in turn
    for (let i = 0; i < times; i++) {
      t.mock.timers.tick(1);
      await Promise.resolve().then(() => {}).then(() => {}).then(() => {}).then(() => {});
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await steps(10);
  const lobby = await connecting;
  t.after(() => lobby.close());
  t.mock.timers.tick(25_000);
  assert.equal(made[0].sent.at(-1).t, 'echo');
  t.mock.timers.tick(10_000);
  assert.ok(made[0].closed);
  await steps(30);
  assert.equal(made.length, 2);
});

test('an aborted call ends, a closed client refuses', async (t) => {
  const { lobby } = await enter(t, () => {});
  await assert.rejects(lobby.request('echo', {}, after(5)), { message: 'too late' });
  lobby.close();
  await assert.rejects(lobby.request('echo'), EndedError);
  await assert.rejects(Lobby.connect(options(sockets(() => {}).Standin), after(20)), { message: 'too late' });
});

test('a token is replaced once, and never quoted', async () => {
  const refusal = { t: 'error', p: { reason: 'token verification failed: token expired', code: 'token_refused' } };
  const asked = [];
  const token = ({ refresh }) => (asked.push(refresh), 'secret');
  await assert.rejects(Lobby.connect(options(sockets((_, answer) => answer(refusal)).Standin, { token })), (err) => err.code === 'token_refused' && !String(err.message).includes('secret'));
  assert.deepEqual(asked, [false, true]);
});

// Pins a part of the package that grows unnoticed. Raise the budget if the growth is worth its download.
test('the lobby has at most 7 KiB, minified and compressed, with what it shares', async () => {
  const { readdir } = await import('node:fs/promises');
  const files = (await readdir(new URL('lobby/', built))).filter((file) => file.endsWith('.js')).map((file) => `lobby/${file}`);
  const size = await compressed([...files, 'pacer.js', 'replicas.js', 'wait.js', 'errors.js']);
  assert.ok(size > 1000 && size <= 7 << 10, `${size} bytes`);
});

const elsewhere = (address) => ({ t: 'error', p: { reason: 'another cell serves the region', code: 'region_elsewhere', region: 'us', address } });

test('a client follows its project to another cell, remembers it, and comes back', async (t) => {
  let back = false;
  const { Standin, made } = sockets((frame, answer, socket) => {
    if (frame.t) return socket.drop();
    const home = socket.url.includes('home');
    answer(home === back ? welcome : elsewhere(home ? 'ws://away' : 'ws://home'));
  });
  const lobby = await Lobby.connect(options(Standin, { urls: ['ws://home'] }));
  t.after(() => lobby.close());
  const places = () => made.map((socket) => new URL(socket.url).host);
  assert.deepEqual(places(), ['home', 'away']);
  await assert.rejects(lobby.sendTo('bob', 'hi', {}, after(2000)), UncertainError);
  await new Promise((resolve) => lobby.on('connected', resolve));
  assert.deepEqual(places(), ['home', 'away', 'away']);
  back = true;
  await assert.rejects(lobby.sendTo('bob', 'hi', {}, after(2000)), UncertainError);
  await new Promise((resolve) => lobby.on('connected', resolve));
  assert.deepEqual(places(), ['home', 'away', 'away', 'away', 'home']);
});

test('a client follows nobody but its replicas, and not from TLS to plain text', async (t) => {
  const refusals = { 'wss://home': ['ws://cell', '', 'ftp://cell', 'wss://cell'], 'wss://cell': ['wss://thief'] };
  const { Standin, made } = sockets((frame, answer, socket) => {
    const address = refusals[new URL(socket.url).origin]?.shift();
    answer(address === undefined ? welcome : elsewhere(address));
  });
  const lobby = await Lobby.connect(options(Standin, { urls: ['wss://home'] }));
  t.after(() => lobby.close());
  assert.deepEqual(made.map((socket) => new URL(socket.url).host), ['home', 'home', 'home', 'home', 'cell', 'home']);
});
