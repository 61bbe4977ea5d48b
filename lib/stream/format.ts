import type { Token } from "../engine/engine.ts";
import type { TapError } from "../errors.ts";
import type { SharedBytes } from "../http/bytes.ts";

/**
 * How one generation's tokens are written. Made anew for each stream, so it may keep state. Each method returns
 * whole events as text, or "" for nothing.
 */
export interface Format {
  /** Before the first token, once it or the end has come. */
  start?(): string;
  token(token: Token): string;
  /** `token` as bytes, where the same bytes serve every stream; undefined where they do not. */
  bytes?(token: Token): SharedBytes | undefined;
  /** The end told: what follows the last token of a generation that completed. */
  end(): string;
  /** A failure after the status is out. */
  error(error: TapError): string;
}

/** A line that is no JSON, for the fault `malformed`. */
export const MALFORMED = 'data: {"token": \n\n';
