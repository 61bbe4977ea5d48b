import { quote } from "../errors.ts";
import { NOTHING } from "./bytes.ts";
import { ChunkedDecoder } from "./chunked.ts";

/** What a piece of a body gives. */
export interface Unframed {
  payload: Uint8Array;
  done: boolean;
  /** The framing broke behind this payload: whatever piece is next, it throws. */
  broken?: boolean;
}

/** What takes the payload out of the body's pieces; null is the end of the connection. Throws when that came too early. */
export type Unframe = (piece: Uint8Array | null) => Unframed;

/** A body in a coding that cannot be taken off. */
export class CodedBody extends Error {
  override name = "CodedBody";
}

/** The same length several times may be taken for one (RFC 9112, 6.3). */
const LENGTH = /^(\d{1,15})(?:[ \t]*,[ \t]*\1)*$/;

/**
 * How the body of a response with these headers is framed: by chunks, by its length, or by the connection's end.
 *
 * @throws {CodedBody} for a transfer coding beside chunks, and for a content coding, which nobody here has asked for
 * @throws {Error} for a length that is none: where the body ends cannot be known
 */
export function framing(headers: Headers): Unframe {
  const transfer = headers.get("transfer-encoding");
  if (transfer !== null && !/^(chunked|identity)$/i.test(transfer)) {
    throw new CodedBody(`wanted the transfer coding chunked or none, got ${quote(transfer)}`);
  }
  const content = headers.get("content-encoding") ?? "";
  if (!/^(identity)?$/i.test(content)) {
    throw new CodedBody(`wanted a body in no coding, got ${quote(content)}`);
  }
  if (transfer?.toLowerCase() === "chunked") {
    const chunks = new ChunkedDecoder();
    return (piece) => {
      if (piece === null) {
        throw chunks.failure ?? new Error("the connection was closed before the body's last chunk");
      }
      const payload = chunks.push(piece);
      return { payload, done: chunks.done, broken: chunks.failure !== undefined };
    };
  }
  const given = headers.get("content-length");
  if (given !== null) {
    const length = LENGTH.exec(given)?.[1];
    if (length === undefined) throw new Error(`wanted one content-length in digits, got ${quote(given)}`);
    let left = Number(length);
    return (piece) => {
      if (piece === null) throw new Error(`the connection was closed ${left} bytes before the body's end`);
      const payload = piece.subarray(0, left);
      left -= payload.length;
      return { payload, done: left === 0 };
    };
  }
  return (piece) => ({ payload: piece ?? NOTHING, done: piece === null });
}
