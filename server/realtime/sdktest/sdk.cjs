// Runs the TypeScript SDK of Nexis, whose source is in DIRECTOR_TEST_NEXIS_SDK, as it is.
const fs = require('fs');
const path = require('path');
const ts = require('typescript');

require.extensions['.ts'] = (module, file) => {
  const { outputText } = ts.transpileModule(fs.readFileSync(file, 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  module._compile(outputText, file);
};
const sdk = require(path.join(process.env.DIRECTOR_TEST_NEXIS_SDK, 'src', 'index.ts'));

const deadline = 20_000;

// until resolves when the condition holds.
async function until(what, holds) {
  const end = Date.now() + deadline;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

// open connects a client and counts what it sends and is sent.
async function open(url, options) {
  const client = await sdk.connect(url, { projectId: 'p1', ...options });
  const seen = { client, errors: [], events: [], resyncs: 0, states: 0 };
  const send = client.sendEnvelope.bind(client);
  client.sendEnvelope = (message) => {
    if (message.t === 'state.resync') seen.resyncs += 1;
    send(message);
  };
  client.onEvent('error', (message) => seen.errors.push(message.p));
  for (const t of ['room.joined', 'room.left', 'room.dropped', 'room.reconnected', 'room.members', 'room.message.bytes', 'reconnect.ok', 'session.replaced']) {
    client.onEvent(t, (message) => seen.events.push(message));
  }
  client.onStateChange(() => (seen.states += 1));
  return seen;
}

const count = (seen, t) => seen.events.filter((e) => e.t === t).length;

let kept; // between the two parts of a scenario

const scenarios = {
  // Two clients, on two replicas, see one counter through a burst of changes.
  async burst({ urls, codec }) {
    const [a, b] = [await open(urls[0], { codecs: [codec] }), await open(urls[1], { codecs: [codec] })];
    const room = await a.client.joinOrCreate('counter_plugin_room');
    const far = await b.client.joinOrCreate('counter_plugin_room');
    const heard = [];
    far.onMessage('counter.updated', (data) => heard.push(data.counter));
    await until('both states', () => 'counter' in room.state && 'counter' in far.state);
    for (let i = 0; i < 200; i += 1) room.send('inc', { by: 1 });
    await until('200', () => room.state.counter === 200 && far.state.counter === 200 && heard.length === 200);
    const inOrder = heard.every((n, i) => n === i + 1);
    return finish([a, b], { id: room.id, inOrder, type: typeof far.state.counter });
  },

  // Presence, lists, bytes, and calls without options.
  async rooms({ urls, codec }) {
    const [a, b] = [await open(urls[0], { codecs: [codec] }), await open(urls[1], { codecs: [codec] })];
    const room = await a.client.joinOrCreate('chat', { roomId: 'chat:sdk' });
    await b.client.joinOrCreate('chat', { roomId: 'chat:sdk' });
    await until('the other', () => a.events.some((e) => e.t === 'room.members' && e.p.count === 2));
    room.sendBytes('blob', [0, 255, 7]);
    room.send('say', { text: 'häuser 家', n: 1e15, at: 1764000000000, none: undefined });
    const said = [];
    b.client.room('chat:sdk').onMessage('say', (data) => said.push(data));
    await until('the messages', () => said.length === 1 && count(b, 'room.message.bytes') === 1);
    const bytes = Array.from(sdk.decodeRoomBytes(b.events.find((e) => e.t === 'room.message.bytes').p.data_b64));
    const listed = await a.client.listRooms('chat');
    await b.client.sendRPC('room.leave', {}, 'chat:sdk');
    await until('the leave', () => count(a, 'room.left') === 1);
    const refused = await a.client.sendRPC('room.join_or_create', { roomType: 'no_such_type:x' });
    return finish([a, b], { said: said[0], bytes, listed: listed.rooms, refused });
  },

  // Lobbies have states with many keys, whose order the client's locale decides.
  async lobby({ urls, codec }) {
    const [a, b] = [await open(urls[0], { codecs: [codec] }), await open(urls[1], { codecs: [codec] })];
    const room = await a.client.joinOrCreate('lobby');
    const far = await b.client.joinOrCreate('lobby');
    const key = `m:${b.client.getSessionId()}`;
    await until('both members', () => key in room.state && key in far.state);
    far.send('ready', { ready: true });
    await until('ready', () => room.state[key].ready === true && far.state[key].ready === true);
    return finish([a, b], { members: Object.keys(room.state).filter((k) => k.startsWith('m:')).length });
  },

  // The connection of a client breaks; the SDK connects again by itself, with its session, and goes on.
  async reconnect({ urls, codec }) {
    const [a, b] = [await open(urls[0], { codecs: [codec] }), await open(urls[1], { codecs: [codec] })];
    const room = await a.client.joinOrCreate('counter_plugin_room');
    const far = await b.client.joinOrCreate('counter_plugin_room');
    await until('both states', () => 'counter' in room.state && 'counter' in far.state);
    const before = a.client.getSessionId();
    a.client.socket.close();
    await until('the drop', () => count(b, 'room.dropped') === 1);
    far.send('inc', { by: 5 });
    await until('the reconnect', () => count(a, 'reconnect.ok') === 1 && count(b, 'room.reconnected') === 1);
    await until('what it missed', () => room.state.counter === 5);
    room.send('inc', { by: 1 });
    await until('both again', () => room.state.counter === 6 && far.state.counter === 6);
    return finish([a, b], { same: a.client.getSessionId() === before });
  },

  // Two clients meet in rooms with states of several keys, and say something.
  async meet({ urls, codec }) {
    const [a, b] = [await open(urls[0], { codecs: [codec] }), await open(urls[1], { codecs: [codec] })];
    const rooms = [];
    for (const [type, suffix] of [['counter_plugin_room', codec], ['lobby', codec]]) {
      const roomId = `${type}:${suffix}`;
      rooms.push([await a.client.joinOrCreate(type, { roomId }), await b.client.joinOrCreate(type, { roomId })]);
    }
    const [[counter, farCounter], [lobby, farLobby]] = rooms;
    const heard = [];
    farCounter.onMessage('counter.updated', (data) => heard.push(data.counter));
    await until('the states', () => 'counter' in counter.state && 'counter' in farCounter.state && 'settings' in lobby.state && 'settings' in farLobby.state);
    counter.send('inc', { by: 1 });
    lobby.send('set', { key: 'map', value: 'häuser' });
    await until('the changes', () => farCounter.state.counter === 1 && farLobby.state.settings.map === 'häuser' && heard.length === 1);
    kept = { a, b, counter, farCounter, lobby, farLobby, heard, session: a.client.getSessionId() };
    return { errors: [...a.errors, ...b.errors], resyncs: a.resyncs + b.resyncs };
  },

  // The first of them has lost its replica. Both go on.
  async again({ codec }) {
    const { a, b, counter, farCounter, lobby, farLobby, heard, session } = kept;
    await until('the reconnect', () => count(a, 'reconnect.ok') === 1 && count(b, 'room.reconnected') === 2);
    farCounter.send('inc', { by: 1 });
    await until('a change of the other', () => counter.state.counter === 2);
    for (let i = 0; i < 20; i += 1) counter.send('inc', { by: 1 });
    lobby.send('set', { key: 'map', value: codec });
    await until('its own changes', () => counter.state.counter === 22 && farCounter.state.counter === 22 && heard.length === 22);
    await until('the setting', () => lobby.state.settings.map === codec && farLobby.state.settings.map === codec);
    const members = Object.keys(farLobby.state).filter((k) => k.startsWith('m:')).length;
    return finish([a, b], { same: a.client.getSessionId() === session, inOrder: heard.every((n, i) => n === i + 1), members });
  },

  // Two clients queue, and talk in the room of their match.
  async match({ urls, codec }) {
    const options = { codecs: [codec], autoJoinMatchedRoom: true };
    const [a, b] = [await open(urls[0], options), await open(urls[1], options)];
    const found = [];
    for (const seen of [a, b]) seen.client.onMatchFound((match) => found.push(match));
    const queued = await a.client.enqueueMatchmaking('duel', 2);
    if (!queued.ok || !queued.queued || queued.position !== 1) throw new Error(JSON.stringify(queued));
    await b.client.enqueueMatchmaking('duel', 2);
    await until('the match', () => found.length === 2);
    const rooms = [a, b].map((seen) => seen.client.room(found[0].room));
    await until('the room', () => rooms.every((room) => 'match' in room.state) && count(a, 'room.joined') + count(b, 'room.joined') >= 3);
    const said = [];
    rooms[1].onMessage('say', (data) => said.push(data));
    rooms[0].send('say', { text: 'häuser 家' });
    await until('the message', () => said.length === 1);
    const participants = [a, b].map((seen) => seen.client.getSessionId());
    const refused = await a.client.dequeueMatchmaking();
    return finish([a, b], {
      same: found[0].room === found[1].room, said: said[0], refused,
      inOrder: JSON.stringify(found.map((match) => match.participants)) === JSON.stringify([participants, participants]),
    });
  },

  // The text of a script of Nexis as a module that Node.js runs.
  async compile({ file }) {
    const { outputText } = ts.transpileModule(fs.readFileSync(file, 'utf8'), {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    return { text: outputText };
  },

  // What connect() rejects with.
  async refused({ urls, codec, token }) {
    try {
      const { client } = await open(urls[0], { codecs: [codec], token });
      client.close();
      return { reason: '' };
    } catch (error) {
      return { reason: error.message };
    }
  },

  // A client whose locale orders keys in another way than the director.
  async foreign({ urls, codec }) {
    const a = await open(urls[0], { codecs: [codec] });
    const room = await a.client.joinOrCreate('lobby');
    await until('the state', () => 'settings' in room.state);
    for (const key of ['aa', 'b', 'z']) room.send('set', { key, value: 1 });
    await until('the settings', () => 'z' in room.state.settings);
    const b = await open(urls[1], { codecs: [codec] });
    const far = await b.client.joinOrCreate('lobby');
    await until('the state without a checksum', () => 'settings' in far.state);
    return finish([a, b], { settings: far.state.settings, first: ['aa', 'b', 'z'].sort((x, y) => x.localeCompare(y))[0] });
  },
};

function finish(clients, result) {
  result.errors = clients.flatMap((seen) => seen.errors);
  result.resyncs = clients.reduce((n, seen) => n + seen.resyncs, 0);
  clients.forEach((seen) => seen.client.close());
  return result;
}

globalThis.answer = (request) => scenarios[request.scenario](request);
