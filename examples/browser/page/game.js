// A player's side of the arena's protocol, and the drawing. examples/arena/game has the messages and the rules.
const size = 100; // side of the field, in metres
const colour = { me: '#d33', other: '#37c', coin: '#c90' };
// By close code, see examples/arena/game/message.go.
const endings = {
  1001: 'The game server closes.',
  4001: 'The game server refused the token.',
  4002: 'You connected elsewhere.',
  4003: 'The match is over.',
};

/** Plays until the connection ends, and returns why it did. */
export function play(seat, { canvas, list, signal, onWelcome }) {
  let you, position; // the player's name and place on the field, once the game server has sent them
  const socket = new WebSocket(seat.endpoint);
  const send = (message) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  const stopSteering = steer(canvas, (heading) => send({ type: 'steer', heading }), () => position);
  const close = () => socket.close();
  signal.addEventListener('abort', close);
  socket.onopen = () => send({ type: 'hello', token: seat.session_token }); // not in the URL, which proxies log
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === 'welcome') onWelcome((you = message.you));
    if (message.type !== 'state') return;
    position = message.state.players.find((player) => player.name === you)?.at;
    draw(canvas, message.state, you);
    showScores(list, message.state.players);
  };
  return new Promise((resolve) => {
    socket.onclose = ({ code }) => {
      stopSteering();
      signal.removeEventListener('abort', close);
      list.replaceChildren();
      resolve(signal.aborted ? 'You left.' : endings[code] ?? `The connection ended (${code}).`);
    };
  });
}

/**
 * Sends a heading for each move of the pointer, from the player's position towards it, and for each arrow key. Returns
 * a function that ends this.
 */
function steer(canvas, send, position) {
  const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const towards = (event) => {
    const box = canvas.getBoundingClientRect();
    const at = position();
    if (!at) return; // no state of the world has arrived yet
    const x = ((event.clientX - box.left) / box.width) * size;
    const y = ((event.clientY - box.top) / box.height) * size;
    send({ x: x - at.x, y: y - at.y });
  };
  const pressed = (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    const [x, y] = keys[event.key];
    send({ x, y });
  };
  canvas.addEventListener('pointermove', towards);
  document.addEventListener('keydown', pressed);
  return () => {
    canvas.removeEventListener('pointermove', towards);
    document.removeEventListener('keydown', pressed);
  };
}

function draw(canvas, state, you) {
  const context = canvas.getContext('2d');
  const scale = canvas.width / size;
  const dot = ({ x, y }, radius, fill) => {
    context.fillStyle = fill;
    context.beginPath();
    context.arc(x * scale, y * scale, radius * scale, 0, 2 * Math.PI);
    context.fill();
  };
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (const coin of state.coins) dot(coin, 0.8, colour.coin);
  for (const player of state.players) dot(player.at, 2, player.name === you ? colour.me : colour.other);
}

function showScores(list, players) {
  list.replaceChildren(...players.map(({ name, score, at }) => {
    const item = document.createElement('li');
    item.textContent = `${name}: ${score}`;
    item.dataset.player = name; // for the tests of the page, as is data-at
    item.dataset.at = `${at.x.toFixed(1)},${at.y.toFixed(1)}`;
    return item;
  }));
}
