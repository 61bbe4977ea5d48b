import { quote } from "../errors.ts";
import { joined } from "./bytes.ts";
import { latin1, trimmed, withHead } from "./header_text.ts";

const MAX_HEAD_BYTES = 64 * 1024;

/** A request as one array, so that it can be one write. */
export function requestBytes(
  method: string,
  url: URL,
  headers: Headers,
  body: string | undefined,
): Uint8Array {
  const bytes = new TextEncoder().encode(body ?? "");
  if (!headers.has("host")) headers.set("host", url.host);
  if (body !== undefined) headers.set("content-length", String(bytes.length));
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`;
  return withHead(head + "\r\n", bytes);
}

/** A response's head, and what came of its body together with it. */
export interface ResponseHead {
  status: number;
  headers: Headers;
  rest: Uint8Array;
}

/**
 * Reads the head of a response. `read` gives what came, valid until its next call, or null at the connection's end.
 *
 * @throws {Error} when the connection ends first, this is not HTTP/1.x, or a header that frames the body is none
 */
export async function readHead(read: () => Promise<Uint8Array | null>): Promise<ResponseHead> {
  let held = new Uint8Array(0);
  for (;;) {
    const end = endOfHead(held);
    if (end >= 0) {
      const head = parseHead(latin1(held.subarray(0, end)));
      held = held.slice(end + 4);
      // 1xx only announces the real one.
      if (head.status >= 200) return { ...head, rest: held };
      continue;
    }
    // Only what holds no whole head is too long: one read may bring a head and much of its body.
    if (held.length >= MAX_HEAD_BYTES) {
      throw new Error(`wanted a response head under ${MAX_HEAD_BYTES} bytes`);
    }
    const piece = await read();
    if (piece === null) throw new Error("the connection was closed before the response's head was complete");
    held = joined([held, piece]);
  }
}

/** Where the blank line that ends a head begins, or -1. */
function endOfHead(bytes: Uint8Array): number {
  for (let i = 0; i + 3 < bytes.length; i++) {
    if (bytes[i] === 13 && bytes[i + 1] === 10 && bytes[i + 2] === 13 && bytes[i + 3] === 10) return i;
  }
  return -1;
}

/** A header that frames the body, or would if a bare CR or LF were a line's end, as some read it. */
const FRAMES = /(^|[\r\n])(content-length|transfer-encoding)(?![\w-])/i;

function parseHead(head: string): { status: number; headers: Headers } {
  // A header may go on in a line that begins with a blank (RFC 9112, 5.2). One behind the status line goes with its reason.
  const [statusLine, ...lines] = head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  const status = /^HTTP\/1\.\d (\d{3})/.exec(statusLine)?.[1];
  if (!status) throw new Error(`wanted an HTTP/1.1 status line, got ${quote(statusLine, 80)}`);
  const headers = new Headers();
  for (const line of lines) {
    // What is no header is passed over, for it may be of no interest; not where it would leave the body's end a guess.
    if (!append(headers, line) && FRAMES.test(line)) {
      throw new Error(`wanted a header that says where the body ends, got ${quote(line, 80)}`);
    }
  }
  return { status: Number(status), headers };
}

/** Adds the header in `line`; false when there is none. */
function append(headers: Headers, line: string): boolean {
  const colon = line.indexOf(":");
  // `Headers` would strip these from a value's ends.
  if (colon < 0 || /[\r\n]/.test(line)) return false;
  try {
    // The blanks before the colon are for the reader of a response to remove (RFC 9112, 5.1).
    headers.append(trimmed(line, 0, colon), trimmed(line, colon + 1));
    return true;
  } catch {
    return false;
  }
}
