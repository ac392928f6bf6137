// What the documentation shows. unit_test.go compiles it against the built package.
import { DirectorError, Player } from '@lattice-director/sdk';

declare const login: { accessToken(refresh: boolean): Promise<string> };
declare function connect(endpoint: string, sessionToken: string): void;
declare function show(text: string): void;
declare function ask(question: string): Promise<boolean>;
declare const leave: AbortController;

export async function playNow(): Promise<void> {
const player = new Player({ urls: ['https://director.example'], token: ({ refresh }) => login.accessToken(refresh) });

const seat = await player.seat({ region: 'eu-west', mode: 'duel' }, { signal: AbortSignal.timeout(60_000) });
connect(seat.endpoint, seat.session_token);
}

export async function queue(player: Player): Promise<void> {
const ticket = await player.queue({ profiles: ['ranked-5v5'], attributes: { skill: 1480, maps: ['dust'] }, latencies: { eu: 34 } });
for await (const status of ticket.watch({ signal: leave.signal })) {
  switch (status.state) {
    case 'queued':
      show(`place ${status.place}, about ${status.estimate?.p50} s`);
      break;
    case 'accepting':
      await ((await ask('Accept?')) ? ticket.accept(status.match_id!) : ticket.decline(status.match_id!));
      break;
    case 'assigned': {
      const { endpoint, session_token } = await player.resolve(status.session_handle!);
      connect(endpoint, session_token);
    }
  }
}
}

export async function errors(player: Player): Promise<void> {
try {
  await player.matchmake({ region: 'eu-west', mode: 'duel', party: ['alice', 'bob'] });
} catch (err) {
  if (!(err instanceof DirectorError)) throw err; // the signal's reason, or what the login threw
  if (err.code === 'no_capacity') show(`full: again in ${err.retryAfter ?? 1} s`);
  else show(`${err.code}: ${err.detail} (${err.requestId})`);
}
}
