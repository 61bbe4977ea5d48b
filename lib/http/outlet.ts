import type { Prefetching } from "../prefetch.ts";
import type { SharedBytes } from "./bytes.ts";

/** Where a body puts its bytes: its stream, or what a server has put in the stream's place. */
export interface Outlet extends Prefetching {
  /** It is done with bytes when `enqueue` returns, unless they are shared. A stream keeps them. */
  readonly copies: boolean;
  /** Under 0: what was given has not been taken yet. */
  readonly desiredSize: number;
  /** `shared`: where `bytes` are from, if other bodies send them too. */
  enqueue(bytes: Uint8Array, shared?: SharedBytes): void;
  /** Wants `resume()` called once what was given has been taken. */
  ask(): void;
  /** Ends it behind what was given; `resume()` is called when the end has been taken too. */
  close(): void;
  /** Breaks it off; what was given and not taken may be lost. */
  error(reason?: unknown): void;
}

/**
 * A response's body that can also write to an outlet by itself, so that its bytes need not pass through its stream: a
 * read of a `ReadableStream` costs as much as the write to the socket that follows it. Whoever serves it otherwise
 * reads the stream and gets the same bytes.
 */
export interface DirectBody {
  /** Puts `outlet` in the place of the stream, which nobody may have read; false when the body is over already. */
  attach(outlet: Outlet): boolean;
  /**
   * The outlet is ready for the first bytes; later: it has taken what it was given, if the body asked to be told, or
   * the end. Must not throw: what fails goes to the outlet's `error`.
   */
  resume(): void;
  /** Nobody reads any more. Must not throw. */
  cancel(): void;
}

/** A property and not a `WeakMap`: one entry for each stream costs a garbage collector more than the rest of it. */
const DIRECT = Symbol("direct body");

interface Carrier extends ReadableStream {
  [DIRECT]?: DirectBody;
}

/** Lets whoever serves `stream` have `body` write it. */
export function offerDirect(stream: ReadableStream, body: DirectBody): void {
  (stream as Carrier)[DIRECT] = body;
}

/** What writes `stream`'s bytes without its reads; undefined where it has to be read. */
export function directBody(stream: ReadableStream): DirectBody | undefined {
  return (stream as Carrier)[DIRECT];
}
