import type { Outlet } from "../http/outlet.ts";

/** A `ReadableStream` as an outlet: what its reader's demand is to a stream, `resume()` is to the body. */
export class StreamOutlet implements Outlet {
  readonly copies = false;
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  readonly #resume: () => void;
  /**
   * Resolves the pending pull. It is kept pending while chunks go straight to a waiting read: a stream whose pull is
   * pending does not call it again at each enqueue, which saves three promises a token. It is resolved when a chunk
   * stays in the queue, for only a pull tells that the reader has come back.
   */
  #release: (() => void) | undefined;
  /** The body is to be told at the next pull. */
  #asked = true;
  /** To be closed when the reader has taken what is queued. */
  #closing = false;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, resume: () => void) {
    this.#controller = controller;
    this.#resume = resume;
  }

  get desiredSize(): number {
    return this.#controller.desiredSize!;
  }

  enqueue(bytes: Uint8Array): void {
    this.#controller.enqueue(bytes);
    if (this.desiredSize < 0) this.#pullAgain();
  }

  ask(): void {
    this.#asked = true;
    this.#pullAgain();
  }

  close(): void {
    this.#closing = true;
    if (this.desiredSize >= 0) this.#close();
    else this.#pullAgain();
  }

  error(reason: unknown): void {
    this.#pullAgain();
    this.#controller.error(reason);
  }

  /** The reader has taken what there was. */
  pull(): Promise<void> | void {
    if (this.#closing) return this.#close();
    if (this.#asked) {
      this.#asked = false;
      this.#resume();
    }
    // Nothing to wait for: the stream pulls again by itself as soon as it wants more.
    if (this.#asked || this.#closing) return;
    return new Promise((resolve) => this.#release = resolve);
  }

  #close(): void {
    this.#controller.close();
    this.#pullAgain();
    this.#resume();
  }

  /** Has the stream say when it has room. */
  #pullAgain(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}
