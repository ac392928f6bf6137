// The steps of the scenarios of test/peertest, in Node.js and in Chromium, against real replicas. Each call is one step.
import * as sdk from '../sdk/index.js';
import { lobbySteps } from './lobbysteps.mjs';

const players = new Map();
const running = new Map();

/** What the tests see of an error. */
function describe(err) {
  const { name, message, call, status, code, retryAfter } = err;
  if (name === 'LobbyError') return { name, message, call, code };
  return err instanceof sdk.DirectorError ? { name, message, call, status, code, retryAfter } : { name, message };
}

const steps = {
  ...lobbySteps,

  /** Makes a player. The first of the tokens is the current one; a refresh drops it. */
  player({ player, urls, tokens }) {
    const controller = new AbortController();
    const p = { tokens: [...tokens], refreshed: 0, retries: [], streams: [], states: [], options: { signal: controller.signal }, controller };
    const token = ({ refresh }) => {
      if (refresh) (p.refreshed++, p.tokens.shift());
      return p.tokens[0];
    };
    const fetch = (url, init) => {
      if (url.endsWith('/events')) p.streams.push({ base: new URL(url).origin, resumed: init.headers['Last-Event-ID'] });
      return globalThis.fetch(url, init);
    };
    p.sdk = new sdk.Player({ urls, token, fetch, maxBackoff: 1000, onRetry: ({ call, error }) => p.retries.push({ ...describe(error), call }) });
    players.set(player, p);
  },

  matchmake: ({ player, request }) => players.get(player).sdk.matchmake(request, players.get(player).options),
  seat: ({ player, request, ...options }) => players.get(player).sdk.seat(request, { ...players.get(player).options, ...options }),
  resolve: ({ player, handle }) => players.get(player).sdk.resolve(handle, players.get(player).options),
  session: ({ player, session }) => players.get(player).sdk.session(session, players.get(player).options),

  async queue({ player, request }) {
    const p = players.get(player);
    p.ticket = await p.sdk.queue(request, p.options);
    return p.ticket.status;
  },
  ticket({ player, id }) {
    players.get(player).ticket = players.get(player).sdk.ticket(id);
  },
  /** Calls next, read, accept, decline or cancel of the player's ticket. */
  ticketCall({ player, method }) {
    const { ticket, options, states } = players.get(player);
    if (method !== 'accept' && method !== 'decline') return ticket[method](options);
    return ticket[method](states.at(-1).match_id, options); // of the state that the player sees
  },

  /** Collects the states of the player's ticket in the background. */
  watch({ player }) {
    const p = players.get(player);
    p.states = [];
    p.watch = (async () => {
      for await (const state of p.ticket.watch(p.options)) p.states.push(state);
    })();
    p.watch.catch(() => {});
  },
  /** The states that the watch has seen. */
  states: ({ player }) => players.get(player).states,
  /** Waits for the end of the watch. */
  watched: ({ player }) => players.get(player).watch,
  /** The streams that the player has opened. */
  streams: ({ player }) => players.get(player).streams,
  refreshed: ({ player }) => players.get(player).refreshed,
  /** The failed attempts. */
  retries: ({ player }) => players.get(player).retries,
  abort: ({ player }) => players.get(player).controller.abort(),

  /** Runs a step in the background; end waits for it. */
  begin({ id, step, args }) {
    const work = steps[step](args);
    work.catch(() => {});
    running.set(id, work);
  },
  end: ({ id }) => running.get(id),
};

export async function call({ step, args }) {
  try {
    return { value: (await steps[step](args)) ?? null };
  } catch (err) {
    return { error: describe(err) };
  }
}
