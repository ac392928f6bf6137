/** Bounds one line, and the data of one event, in characters. The director's events have some hundreds. */
const maxEventLength = 64 << 10;

/** Thrown for an event that is too long. The stream is then useless. */
export class OversizeError extends Error {
  override readonly name = 'OversizeError';
}

/**
 * Parses a stream of server-sent events, as the HTML standard says. It returns the data of events only: the name and the id of the
 * director's events are in the data as well. It holds at most one line and the data of one event.
 */
export class EventParser {
  private line = '';
  private data: string[] = [];
  private size = 0;
  private skipLF = false;

  /** Takes a piece of the stream and returns the data of the events that it completes. */
  *push(chunk: string): Generator<string> {
    let rest = chunk;
    if (this.skipLF && rest !== '') {
      if (rest.startsWith('\n')) rest = rest.slice(1);
      this.skipLF = false;
    }
    for (let end = rest.search(/[\r\n]/); end >= 0; end = rest.search(/[\r\n]/)) {
      const line = this.grow(rest.slice(0, end));
      this.line = '';
      const next = rest.startsWith('\r\n', end) ? end + 2 : end + 1;
      this.skipLF = rest[end] === '\r' && next === rest.length && next === end + 1; // its \n may come with the next piece
      rest = rest.slice(next);
      const event = this.take(line);
      if (event !== undefined) yield event;
    }
    this.line = this.grow(rest);
  }

  private grow(piece: string): string {
    if (this.line.length + piece.length > maxEventLength) throw new OversizeError('a line of the stream of events is too long');
    return this.line + piece;
  }

  /** Takes a line. An empty one completes the event. */
  private take(line: string): string | undefined {
    if (line !== '') {
      this.field(line);
      return undefined;
    }
    const event = this.data.length > 0 ? this.data.join('\n') : undefined;
    this.data = [];
    this.size = 0;
    return event;
  }

  private field(line: string): void {
    const [name, value] = split(line);
    if (name !== 'data') return;
    this.size += value.length + 1;
    if (this.size > maxEventLength) throw new OversizeError('an event is too long');
    this.data.push(value);
  }
}

function split(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value];
}
