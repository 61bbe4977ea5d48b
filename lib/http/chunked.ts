import { quote } from "../errors.ts";
import { joined } from "./bytes.ts";

const CR = 13;
const LF = 10;
const MAX_LINE = 8192;

/** Takes the payload out of a chunked HTTP/1.1 body, given piece by piece as the socket reads it. */
export class ChunkedDecoder {
  /** The closing chunk and its trailer were read. */
  done = false;
  /** The framing broke behind the payload that was given last; the next `push` throws it. */
  failure: unknown;

  #state: "size" | "data" | "data-end" | "trailer" = "size";
  #line = "";
  #left = 0;

  /**
   * The payload in `bytes`: one array however many chunks they hold, so that one read stays one arrival.
   *
   * @throws {Error} when the framing is broken, with no payload before that: how the bytes were cut into reads decides
   * nothing about what is delivered
   */
  push(bytes: Uint8Array): Uint8Array {
    if (this.failure !== undefined) throw this.failure;
    const parts: Uint8Array[] = [];
    try {
      this.#decode(bytes, parts);
    } catch (error) {
      if (parts.length === 0) throw error;
      this.failure = error;
    }
    return parts.length === 1 ? parts[0] : joined(parts);
  }

  #decode(bytes: Uint8Array, parts: Uint8Array[]): void {
    let at = 0;
    while (at < bytes.length && !this.done) {
      if (this.#state === "data") {
        const part = bytes.subarray(at, at + this.#left);
        parts.push(part);
        at += part.length;
        this.#left -= part.length;
        if (this.#left === 0) this.#state = "data-end";
        continue;
      }
      const byte = bytes[at++];
      if (byte !== LF) {
        if (byte !== CR) this.#line += String.fromCharCode(byte);
        if (this.#line.length > MAX_LINE) throw new Error(`a chunk's head must be under ${MAX_LINE} bytes`);
        continue;
      }
      this.#endLine(this.#line);
      this.#line = "";
    }
  }

  #endLine(line: string): void {
    switch (this.#state) {
      case "size": {
        const size = line.split(";")[0].trim();
        if (!/^[0-9a-f]{1,8}$/i.test(size)) {
          throw new Error(`wanted a chunk size in hexadecimal, got ${quote(line)}`);
        }
        this.#left = parseInt(size, 16);
        this.#state = this.#left === 0 ? "trailer" : "data";
        break;
      }
      case "data-end":
        if (line !== "") throw new Error(`wanted a line end after a chunk, got ${quote(line)}`);
        this.#state = "size";
        break;
      case "trailer":
        this.done = line === "";
    }
  }
}
