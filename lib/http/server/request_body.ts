import type { BodyReader } from "./body_reader.ts";
import type { Inbox } from "./inbox.ts";

const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/**
 * A request's body as a handler reads it: the socket is read on only as far as the handler takes, plus what the inbox
 * holds.
 */
export class RequestBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Something was read of it, or it was cancelled. */
  used = false;
  /** The client still waits for `100 Continue`. */
  expected: boolean;
  /** The write of `100 Continue`, which the answer must not overtake. */
  interim: Promise<unknown> | undefined;
  readonly #inbox: Inbox;
  readonly #reader: BodyReader;
  readonly #write: (bytes: Uint8Array) => Promise<unknown>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #released = false;

  /** @param write writes to the client; its rejection is looked at elsewhere */
  constructor(
    inbox: Inbox,
    reader: BodyReader,
    expectsContinue: boolean,
    write: (bytes: Uint8Array) => Promise<unknown>,
  ) {
    this.#inbox = inbox;
    this.#reader = reader;
    this.#write = write;
    this.expected = expectsContinue;
    this.stream = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => void (this.used = this.#released = true),
    }, { highWaterMark: 0 });
  }

  /** Somebody still reads it, or is about to: it may be what `response` answers with. */
  readFor(response: Response): boolean {
    return !this.#released && (this.stream.locked || response.body === this.stream);
  }

  /** What is left of the body is no longer the handler's. */
  release(): void {
    this.#end("The request's body was not read before it was answered.");
  }

  /** @param why becomes an error only where somebody may still read: to make one takes 5 µs */
  #end(why: string): void {
    if (this.#released) return;
    this.#released = true;
    this.#controller.error(new Error(why));
  }

  /** Synchronous where something has arrived: a reader can then tell that from a wait. */
  #pull(): void | Promise<void> {
    this.used = true;
    if (this.#give()) return;
    if (this.expected) {
      this.expected = false;
      this.interim = this.#write(CONTINUE).catch(() => {});
    }
    return this.#giveLater();
  }

  async #giveLater(): Promise<void> {
    do await this.#inbox.more(); while (!this.#give());
  }

  /** Hands over what has arrived; false when nothing has. */
  #give(): boolean {
    if (this.#released) return true;
    try {
      const payload = this.#reader.take();
      if (payload.length > 0) {
        this.expected = false;
        this.#controller.enqueue(payload);
      }
      if (this.#reader.done) {
        this.#released = true;
        this.#controller.close();
        return true;
      }
      if (payload.length > 0) return true;
    } catch (error) {
      this.#released = true;
      this.#controller.error(error);
      return true;
    }
    if (!this.#inbox.ended) return false;
    this.#end("The connection was closed before the end of the request's body.");
    return true;
  }
}
