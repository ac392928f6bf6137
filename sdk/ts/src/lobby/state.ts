/** The state of a room: an object whose values change as a whole. */
export type State = Readonly<Record<string, unknown>>;

/** A change of one value. */
export interface Op {
  readonly op: 'set' | 'del';
  /** "/" and the key. */
  readonly path: string;
  readonly value?: unknown;
}

/** A member of a party, a lobby or a match. */
export interface Member {
  readonly session: string;
  readonly name?: string;
  /** In a match: the player's name in its token. */
  readonly player?: string;
  /** In a lobby. */
  readonly team?: string | number | null;
  readonly ready?: boolean;
  /** What it shows of itself. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Whether its connection has ended, while its session has not. */
  readonly away?: boolean;
}

/** Returns the state of a snapshot. Without a prototype, since "__proto__" may be a key. */
export function snapshot(values: object): State {
  return Object.assign(Object.create(null), values) as State;
}

/** Returns the state after a patch. */
export function patched(state: State, ops: readonly Op[]): State {
  const next = snapshot(state) as Record<string, unknown>;
  for (const { op, path, value } of ops) {
    const key = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
    if (op === 'del') delete next[key];
    else next[key] = value;
  }
  return next;
}

/** Returns the members, which have a key each. */
export function membersOf(state: State): Member[] {
  const keys = Object.keys(state).filter((key) => key.startsWith('m:'));
  return keys.map((key) => ({ ...(state[key] as object), session: key.slice(2) }));
}
