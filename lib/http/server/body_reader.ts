import { quote } from "../../errors.ts";
import { joined } from "../bytes.ts";
import { latin1 } from "../header_text.ts";
import type { Inbox } from "./inbox.ts";
import { Refusal } from "./own_answer.ts";

/** Of a chunk's size line with its extensions, in bytes. */
const MAX_LINE = 1024;
const MAX_TRAILER = 8192;

const LF = 10;
const CR = 13;

const SIZE_LINE = /^([\da-f]{1,8})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/i;
const TRAILER_LINE = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Takes a request's body out of what arrives, and nothing beyond it: the next request may follow at once. Strict, as
 * the head is, where the decoder of responses forgives.
 */
export class BodyReader {
  /** All of the body was taken. */
  done: boolean;
  /** It comes in chunks, so that nobody knows how long it is. */
  readonly chunked: boolean;
  readonly #inbox: Inbox;
  #state: "size" | "data" | "data-end" | "trailer";
  #left: number;
  #trailer = 0;
  /** The chunks are none: where the body ends cannot be known any more. */
  #broken: Refusal | undefined;

  /** @param length bytes of the body, or "chunked" */
  constructor(inbox: Inbox, length: number | "chunked") {
    this.#inbox = inbox;
    this.chunked = length === "chunked";
    this.#state = this.chunked ? "size" : "data";
    this.#left = length === "chunked" ? 0 : length;
    this.done = length === 0;
  }

  /** Bytes that are known to be still missing. */
  get missing(): number {
    return Math.max(0, this.#left - this.#inbox.length);
  }

  /**
   * What has arrived of the body, as one array of its own; an empty one when nothing has.
   *
   * @throws {Refusal} when the chunks are broken, and then each time
   */
  take(): Uint8Array<ArrayBuffer> {
    // What is left lies there still: read again from another state it could make a body, and behind it a request.
    if (this.#broken !== undefined) throw this.#broken;
    const bytes = this.#inbox.peek();
    const parts: Uint8Array[] = [];
    let at = 0;
    while (!this.done) {
      if (this.#state === "data") {
        const part = bytes.subarray(at, at + this.#left);
        if (part.length === 0) break;
        parts.push(part);
        at += part.length;
        this.#left -= part.length;
        if (this.#left > 0) break;
        if (this.chunked) this.#state = "data-end";
        else this.done = true;
        continue;
      }
      const end = bytes.indexOf(LF, at);
      this.#bound((end < 0 ? bytes.length : end + 1) - at);
      if (end < 0) break;
      if (end === at || bytes[end - 1] !== CR) {
        throw this.#broke("wanted a carriage return before each line feed between chunks, got none");
      }
      this.#line(latin1(bytes.subarray(at, end - 1)));
      at = end + 1;
    }
    // A copy in any case: the inbox uses its bytes again.
    const payload = joined(parts);
    this.#inbox.consume(at);
    return payload;
  }

  #bound(length: number): void {
    if (this.#state !== "trailer") {
      if (length > MAX_LINE) throw this.#broke(`wanted at most ${MAX_LINE} bytes in a line between chunks`);
    } else if (this.#trailer + length > MAX_TRAILER) {
      throw this.#broke(`wanted a trailer of at most ${MAX_TRAILER} bytes`);
    }
  }

  #line(line: string): void {
    switch (this.#state) {
      case "size": {
        const size = SIZE_LINE.exec(line)?.[1];
        if (size === undefined) throw this.#broke(`wanted a chunk's size in hexadecimal, got ${quote(line)}`);
        this.#left = parseInt(size, 16);
        this.#state = this.#left === 0 ? "trailer" : "data";
        break;
      }
      case "data-end":
        if (line !== "") throw this.#broke(`wanted a line end after a chunk, got ${quote(line)}`);
        this.#state = "size";
        break;
      case "trailer":
        this.#trailer += line.length + 2;
        if (line === "") this.done = true;
        else if (!TRAILER_LINE.test(line)) throw this.#broke(`wanted a trailer line, got ${quote(line)}`);
    }
  }

  #broke(message: string): Refusal {
    return this.#broken = new Refusal(400, message);
  }
}
