import { closeSocket, type Socket, writeAll } from "../socket.ts";
import { BodyReader } from "./body_reader.ts";
import { Deadline } from "./deadline.ts";
import { Inbox } from "./inbox.ts";
import { aboutServer, Refusal } from "./own_answer.ts";
import { readRequestHead, type RequestHead } from "./request_head.ts";
import { RequestBody } from "./request_body.ts";
import { ResponseWriter } from "./response_writer.ts";
import { servedRequest } from "./served_request.ts";
import { endIsInSight, passOver } from "./unread.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

/** Where something failed that is not the client's fault. */
export type Failure = "accept" | "handler" | "body";

export interface ConnectionOptions {
  handler: Handler;
  onError: (error: unknown, at: Failure) => void;
  /** Milliseconds of any clock that only goes forward. */
  now: () => number;
  /** How long a head may take from its first byte on, in milliseconds. */
  headMs: number;
  /** How long a connection may wait for a request, in milliseconds. */
  idleMs: number;
  /** Each answer is to be its connection's last, and says so: the server is about to close them all. */
  closing: () => boolean;
}

/**
 * How long a client that is still sending gets to take an answer that ends the connection: in all, and between two
 * things it sends. Most read no answer before they have sent everything.
 */
const LINGER_MS = 30_000;
const LINGER_SILENCE_MS = 2000;

/** What a connection is at. A drain lets the second and the third come to their end. */
type State =
  /** It waits for a request, or for the end of one that is answered. */
  | { name: "waiting" }
  /** A handler makes the answer. `body`: what it can read of the request. */
  | { name: "handling"; abort: AbortController; body: BodyReader | undefined }
  /** The answer is written. */
  | { name: "writing"; abort: AbortController; writer: ResponseWriter };

const WAITING: State = { name: "waiting" };

/** One connection: its requests one after the other, until either side ends it. */
export class Connection {
  /** Since when it has waited for a request of which nothing has come; undefined while it does not. */
  idleSince: number | undefined;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #inbox: Inbox;
  readonly #deadline: Deadline;
  #state: State = WAITING;
  /** It ends with the answer that is running. */
  #draining = false;
  #closed = false;
  readonly #onOverdue = () => this.close();

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#inbox = new Inbox(socket, () => this.#nobodyReads());
    this.#deadline = new Deadline(options.now);
  }

  /** Serves until the connection is closed. Never rejects. */
  async run(): Promise<void> {
    const filling = this.#inbox.fill().then(async () => {
      // Who ends the sending direction alone still gets an answer that is there at once; nobody can tell that from
      // leaving, so no more than that is waited for.
      if (this.#state.name === "handling") await new Promise((resolve) => setTimeout(resolve));
      this.close();
      this.#tellOfLeaving();
    });
    try {
      while (await this.#next());
    } catch (error) {
      if (error instanceof Refusal) await this.#refuse(error);
      else if (!this.#closed) this.#options.onError(error, "handler");
    }
    this.close();
    await filling;
  }

  /** Closes it when what it waits for is overdue at `now`. */
  expire(now: number): void {
    // A stream may take any time, and has its own limit for a reader that takes nothing.
    const whole = this.#state.name === "writing" && this.#state.writer.ready;
    if (whole && !this.#deadline.running) this.#within(this.#options.idleMs);
    this.#deadline.check(now);
  }

  /** Closes it, after the response that is running if one is. */
  drain(): void {
    this.#draining = true;
    if (this.#state.name === "waiting") this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.idleSince = undefined;
    this.#inbox.end();
    closeSocket(this.#socket);
  }

  #within(ms: number): void {
    this.#deadline.within(ms, this.#onOverdue);
  }

  /** What arrives is for a request behind the present one, or for nobody. */
  #nobodyReads(): boolean {
    const state = this.#state;
    return state.name === "writing" || (state.name === "handling" && (state.body?.done ?? true));
  }

  /** Tells whoever works for the present request that the client has left. A body that broke stopped it already. */
  #tellOfLeaving(): void {
    const state = this.#state;
    if (state.name === "waiting" || (state.name === "writing" && state.writer.broken)) return;
    if (state.name === "writing") state.writer.leave();
    state.abort.abort(new DOMException("The client has left.", "AbortError"));
  }

  /** One request and its response; false when the connection is to end. */
  async #next(): Promise<boolean> {
    const { headMs, idleMs, now } = this.#options;
    this.#within(idleMs);
    this.idleSince = now();
    const head = await readRequestHead(this.#inbox, this.#deadline, headMs, () => this.idleSince = undefined);
    return head !== undefined && await this.#answer(head);
  }

  async #answer(head: RequestHead): Promise<boolean> {
    const reader = new BodyReader(this.#inbox, head.body);
    const write = (bytes: Uint8Array) => writeAll(this.#socket, bytes);
    const body = reader.done ? undefined : new RequestBody(this.#inbox, reader, head.expectsContinue, write);
    // A `Request` of these has no body: nobody can read one that comes all the same.
    const unread = head.method === "GET" || head.method === "HEAD";
    const abort = new AbortController();
    this.#state = { name: "handling", abort, body: unread ? undefined : reader };
    const response = head.general
      ? aboutServer()
      : await this.#handle(head, unread ? undefined : body, abort.signal);
    await body?.interim;
    // Asked last, for it may wait.
    const close = head.close || this.#draining || this.#options.closing() || this.#inbox.lost ||
      /\bclose\b/i.test(response.headers.get("connection") ?? "") ||
      (body !== undefined && !reader.done && !await endIsInSight(this.#inbox, reader, body, response));
    if (this.#closed) {
      response.body?.cancel().catch(() => {});
      return false;
    }
    if (body) body.expected = false;
    const writer = new ResponseWriter(this.#socket, response, { ...head, close });
    this.#state = { name: "writing", abort, writer };
    const whole = await writer.send();
    this.#state = WAITING;
    body?.release();
    if (writer.broken && !writer.told) this.#options.onError(writer.broken.error, "body");
    if (whole && !this.#draining && !this.#inbox.lost) {
      this.#within(this.#options.headMs);
      if (await passOver(this.#inbox, reader)) return true;
    }
    if (!writer.broken && (!reader.done || this.#inbox.length > 0)) await this.#linger();
    return false;
  }

  async #handle(
    head: RequestHead,
    body: RequestBody | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    try {
      const { method, headers, url } = head;
      const request = servedRequest({ method, url, headers, body, signal });
      const response = await this.#options.handler(request);
      if (response.body?.locked) {
        throw new TypeError("wanted a Response with an unread body, got a locked one");
      }
      if (response.type === "error") throw new TypeError("wanted a Response, got Response.error()");
      return response;
    } catch (error) {
      if (!this.#closed) this.#options.onError(error, "handler");
      return new Response(null, { status: 500 });
    }
  }

  async #refuse(refusal: Refusal): Promise<void> {
    this.#within(this.#options.headMs);
    await writeAll(this.#socket, refusal.bytes()).catch(() => {});
    await this.#linger();
    this.close();
  }

  /**
   * Ends only the sending direction while the client still sends: bytes that nobody reads would make the kernel reset
   * the connection, and the client lose the answer.
   */
  async #linger(): Promise<void> {
    if (this.#closed || this.#draining) return;
    const { now } = this.#options;
    const end = now() + LINGER_MS;
    this.#inbox.discard();
    this.#within(LINGER_SILENCE_MS);
    await this.#socket.closeWrite?.().catch(() => {});
    while (!this.#inbox.ended) {
      this.#within(Math.min(LINGER_SILENCE_MS, end - now()));
      await this.#inbox.more();
    }
  }
}
