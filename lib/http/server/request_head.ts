import { latin1, trimmed } from "../header_text.ts";
import type { Deadline } from "./deadline.ts";
import type { Inbox } from "./inbox.ts";
import { Refusal } from "./own_answer.ts";
import { requestUrl } from "./request_url.ts";

/** Of request line and header lines together, in bytes. */
const MAX_HEAD = 65_536;
const MAX_HEADERS = 100;

const LF = 10;
const CR = 13;

export interface RequestHead {
  method: string;
  url: string;
  /** `OPTIONS *`: it asks about the server, and about nothing that a URL names. */
  general: boolean;
  headers: [name: string, value: string][];
  /** HTTP/1.0: no chunks in the answer, and `close`: nothing but its end tells where a body without length ends. */
  old: boolean;
  /** The connection ends with the answer, because the client says so or is of 1.0. */
  close: boolean;
  /** Bytes of the body, or that it comes in chunks. */
  body: number | "chunked";
  /** The client waits for `100 Continue` before it sends the body. */
  expectsContinue: boolean;
}

/**
 * Takes the next head out of what arrives; undefined when `inbox` ends before that is there.
 *
 * @param headMs how long it may take from its first byte on, in milliseconds
 * @param onBegun its first byte has come
 * @throws {Refusal} when it takes too long, or is none
 */
export async function readRequestHead(
  inbox: Inbox,
  deadline: Deadline,
  headMs: number,
  onBegun: () => void,
): Promise<RequestHead | undefined> {
  while (!inbox.ended && !begins(inbox)) await inbox.more();
  if (inbox.ended) return undefined;
  onBegun();
  let late = false;
  deadline.within(headMs, () => {
    late = true;
    inbox.wake();
  });
  const scan = new HeadScan();
  while (!inbox.ended) {
    if (late) throw new Refusal(408, "the head took too long");
    const bytes = inbox.peek();
    const end = scan.end(bytes);
    if (end >= 0) {
      deadline.lift();
      const head = parseRequestHead(bytes.subarray(0, end));
      inbox.consume(end);
      return head;
    }
    await inbox.more();
  }
  return undefined;
}

/** Whether something of a head has come. A line end too many behind the body before is forgiven (RFC 9112, 2.2). */
function begins(inbox: Inbox): boolean {
  for (;;) {
    const bytes = inbox.peek();
    // What a lone carriage return begins is told by the next byte.
    if (bytes[0] !== CR) return bytes.length > 0;
    if (bytes[1] !== LF) return bytes.length > 1;
    inbox.consume(2);
  }
}

/** Finds the end of a head that arrives piece by piece, looking at each byte once. */
class HeadScan {
  #at = 0;
  #lineStart = 0;
  #lines = 0;

  /**
   * The length of the head with its blank line, or -1 while that has not arrived.
   *
   * @param bytes all that has arrived, from the head's first byte on
   * @throws {Refusal} when it begins with no method, a line ends without CR, or the head is too long
   */
  end(bytes: Uint8Array): number {
    // A TLS client waits for an answer to its greeting, which has no line end to wait for.
    if (bytes[0] <= 32 || bytes[0] >= 127) throw new Refusal(400, "wanted a method first");
    const upTo = Math.min(bytes.length, MAX_HEAD);
    for (; this.#at < upTo; this.#at++) {
      if (bytes[this.#at] !== LF) continue;
      const empty = this.#at - this.#lineStart === 1;
      if (this.#at === 0 || bytes[this.#at - 1] !== CR) {
        throw new Refusal(400, "a line of the head ends without a carriage return");
      }
      this.#lineStart = this.#at + 1;
      if (empty) return this.#at + 1;
      this.#lines++;
    }
    if (this.#at < MAX_HEAD) return -1;
    throw new Refusal(this.#lines === 0 ? 414 : 431, `wanted a head of at most ${MAX_HEAD} bytes`);
  }
}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/(\d\.\d)$/;
const HEADER_LINE = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** What the runtime's `Request` does not take, and what it would take for another: methods have a case (RFC 9110, 9.1). */
const UNSUPPORTED = /^(CONNECT|TRACE|TRACK)$/i;
const NORMALIZED = /^(DELETE|GET|HEAD|OPTIONS|POST|PUT)$/i;

/**
 * A head as RFC 9112 has it, read strictly: what servers read differently is refused, for one of them may stand in
 * front of this one.
 *
 * @param bytes the head with its blank line
 * @throws {Refusal}
 */
export function parseRequestHead(bytes: Uint8Array): RequestHead {
  const lines = latin1(bytes.subarray(0, bytes.length - 4)).split("\r\n");
  const asked = REQUEST_LINE.exec(lines[0]);
  if (asked === null) throw new Refusal(400, "wanted a request line");
  const [, method, target, version] = asked;
  // A later minor version is to be read as the highest that is known (RFC 9110, 2.5).
  if (!version.startsWith("1.")) throw new Refusal(505, `wanted HTTP/1.1, got ${version}`);
  if (UNSUPPORTED.test(method) || NORMALIZED.test(method) && method !== method.toUpperCase()) {
    throw new Refusal(501, `the method ${method} is not supported`);
  }
  if (lines.length - 1 > MAX_HEADERS) throw new Refusal(431, `wanted at most ${MAX_HEADERS} headers`);
  const old = version === "1.0";
  const headers: RequestHead["headers"] = [];
  let close = old;
  let expectsContinue = false;
  let host: string | undefined;
  let length: string | undefined;
  let coding: string | undefined;
  // Once over the lines: each request pays for what is done here.
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i];
    if (!HEADER_LINE.test(line)) throw new Refusal(400, "wanted a header line");
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = trimmed(line, colon + 1);
    headers.push([name, value]);
    if (name === "host") host = only(host, name, value);
    else if (name === "connection") close ||= /(^|,)\s*close\s*(,|$)/i.test(value);
    else if (name === "content-length") length = only(length, name, value);
    else if (name === "transfer-encoding") coding = only(coding, name, value);
    else if (name === "expect") expectsContinue ||= !old && /^100-continue$/i.test(value);
  }
  if (host === undefined && !old) throw new Refusal(400, "wanted a Host header");
  return {
    method,
    url: requestUrl(method, target, host ?? ""),
    general: target === "*",
    headers,
    old,
    close,
    body: bodyOf(length, coding, old),
    expectsContinue,
  };
}

/** `value`, unless the header was there before: it may be there once. */
function only(before: string | undefined, name: string, value: string): string {
  if (before !== undefined) throw new Refusal(400, `wanted one ${name} header, got several`);
  return value;
}

function bodyOf(length: string | undefined, coding: string | undefined, old: boolean): RequestHead["body"] {
  if (coding === undefined) {
    if (length === undefined) return 0;
    if (!/^\d{1,15}$/.test(length)) throw new Refusal(400, "wanted a number of bytes as Content-Length");
    return Number(length);
  }
  if (length !== undefined) throw new Refusal(400, "wanted Content-Length or Transfer-Encoding, got both");
  if (old) throw new Refusal(400, "HTTP/1.0 has no Transfer-Encoding");
  if (coding.toLowerCase() !== "chunked") throw new Refusal(501, "wanted no transfer coding but chunked");
  return "chunked";
}
