/**
 * Every way a request can fail, with the HTTP status it has while no byte of the answer is out.
 * The set is closed: clients may switch on it.
 */
export const ERROR_STATUS = {
  invalid_request: 400,
  context_length: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limit: 429,
  internal: 500,
  injected_fault: 500,
  upstream_error: 502,
  overloaded: 503,
  shutting_down: 503,
  upstream_timeout: 504,
  /** No write was taken for the stall limit; seen in a record, since who could be told takes nothing. */
  stalled: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface TapErrorOptions {
  /** The request's parameter at fault, or null. */
  param?: string | null;
  /** Replaces the code's own status, e.g. an upstream's. */
  status?: number;
  /** Seconds for a `Retry-After` header. */
  retryAfter?: number;
  /** The methods for an `Allow` header (405). */
  allow?: string;
  /** What was thrown underneath: logged, never sent. */
  cause?: unknown;
}

/** A failure whose message may be shown to the client: it says what was wanted and what came. */
export class TapError extends Error {
  override name = "TapError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly param: string | null;
  readonly retryAfter: number | undefined;
  readonly allow: string | undefined;

  constructor(code: ErrorCode, message: string, options: TapErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? ERROR_STATUS[code];
    this.param = options.param ?? null;
    this.retryAfter = options.retryAfter;
    this.allow = options.allow;
  }
}

/**
 * What the client may be told about any thrown value: a `TapError` as it is, everything else as `internal`
 * without its text, which may hold paths, keys or prompts.
 */
export function publicError(thrown: unknown): TapError {
  if (thrown instanceof TapError) return thrown;
  return new TapError("internal", "The server failed while it worked on this request.", { cause: thrown });
}

/**
 * What the operator is told of a failure beside its code: its message and what lay underneath, which may hold an
 * address, so that no client gets it. Of an `internal` error the log has more in a line of its own.
 */
export function reasonOf({ code, message, cause }: TapError): string {
  let text = message;
  // A cause may be its own.
  for (
    let under = code === "internal" ? undefined : cause;
    under instanceof Error && text.length < MAX_REASON_LENGTH;
    under = under.cause
  ) {
    text += ` (${under.message})`;
  }
  return text.slice(0, MAX_REASON_LENGTH);
}

const MAX_REASON_LENGTH = 500;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_STATUS, code);
}

/** The code that fits a bare HTTP status (400–599), as a fault asks for one: the first that has it. */
export function codeOfStatus(status: number): ErrorCode {
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[];
  return codes.find((code) => ERROR_STATUS[code] === status) ??
    (status < 500 ? "invalid_request" : "internal");
}

/** What requests are refused with, and generations ended, while the server shuts down. */
export function shuttingDown(): TapError {
  return new TapError("shutting_down", "The server is shutting down.", { retryAfter: 1 });
}

/** A value from outside, shortened and stripped of control characters so that a message or log may quote it. */
export function quote(value: unknown, limit = 40): string {
  const text = typeof value === "string" ? value : String(value);
  // deno-lint-ignore no-control-regex
  const clean = text.slice(0, limit).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "?").toWellFormed();
  return JSON.stringify(text.length > limit ? clean + "…" : clean);
}

/** What a body breaks with. The runtime logs it; the generation's own line tells the rest, so a line is enough. */
export function torn({ message }: Error): Error {
  return Object.assign(new Error(message), { stack: message });
}
