import { DirectorError, UnreadableError } from './errors.js';
import type { Problem } from './types.js';

/** The director's answers have some hundred bytes. A peer that sends more than 1 MiB is not the director. */
const maxAnswerBytes = 1 << 20;

/** One call of the API, which may take several attempts. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** What the call names, as far as the client knows: it says which cell to ask. At most one is set. */
  readonly region?: string;
  readonly ticket?: string;
  /** How long the director may take to answer, in addition to the timeout of an attempt, in milliseconds. */
  readonly wait?: number;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. Without a signal a call retries until the director decides. */
  signal?: AbortSignal;
}

/** Names a call in errors, without its query. */
export const nameOf = (call: Call): string => `${call.method} ${call.path.split('?')[0]}`;

/** Returns the options of fetch for a call. */
export function requestOf(call: Call, token: string, accept: string, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = { ...call.headers, Authorization: `Bearer ${token}`, Accept: `${accept}, application/problem+json` };
  if (call.body !== undefined) headers['Content-Type'] = 'application/json';
  return {
    method: call.method,
    headers,
    signal,
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'manual', // a redirect would send the token to another host
  };
}

/** Reads a whole answer. Throws a RangeError for one that is too long, and what the connection throws. */
export async function readText(response: Response): Promise<string> {
  if (!response.body) return response.text(); // React Native
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > maxAnswerBytes) throw new RangeError(`the answer has more than ${maxAnswerBytes} bytes`);
    text += decoder.decode(value, { stream: true });
  }
}

/** Returns the document of a success. Throws DirectorError for any other status, and UnreadableError for a success without a document. */
export function documentOf(call: Call, response: Response, text: string): unknown {
  if (!response.ok) throw refusalOf(call, response, text);
  const parsed = objectOf(text);
  // The text is not quoted, and the parser's error neither: both may contain a session token.
  if (!parsed) throw new UnreadableError(`${nameOf(call)}: the answer with status ${response.status} is not a JSON object`);
  return parsed;
}

/** Returns the error of an answer that is not a success, with or without a problem document. */
export function refusalOf(call: Call, response: Response, text: string): DirectorError {
  if (response.type === 'opaqueredirect') return new DirectorError(nameOf(call), 302, { detail: 'redirects are not followed' });
  return new DirectorError(nameOf(call), response.status, objectOf(text) as Partial<Problem> | undefined, response.headers);
}

export function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
