import { FrameCounter } from "../load/frames.ts";

const READ_BYTES = 64 * 1024;

/**
 * Stands before the far server and notes when each token of each stream passes through, by the clock of this
 * process: the one that also reads the streams at their other end.
 */
export class Relay implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.TcpConn>();
  readonly #farPort: number;
  /** For each stream, by its number in the prompt: when its tokens passed, in ms. */
  #passed = new Map<number, number[]>();

  constructor(farPort: number) {
    this.#farPort = farPort;
    this.#accept();
  }

  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  /** When token `index` of `stream` passed; undefined while it has not. */
  passedAt(stream: number, index: number): number | undefined {
    return this.#passed.get(stream)?.[index];
  }

  forget(): void {
    this.#passed = new Map();
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const conn of this.#open) conn.close();
    this.#open.clear();
  }

  async #accept(): Promise<void> {
    try {
      for await (const near of this.#listener) this.#serve(near as Deno.TcpConn);
    } catch {
      // Closed.
    }
  }

  async #serve(near: Deno.TcpConn): Promise<void> {
    this.#open.add(near);
    const far = await Deno.connect({ hostname: "127.0.0.1", port: this.#farPort });
    this.#open.add(far);
    near.setNoDelay(true);
    far.setNoDelay(true);
    const end = () => {
      for (const conn of [near, far]) {
        if (this.#open.delete(conn)) conn.close();
      }
    };
    const passed: number[] = [];
    // A chat begins with its role; every further event that is no token comes after the last one.
    let skip = 0;
    const requests = this.#pump(near, far, (bytes) => {
      const text = new TextDecoder().decode(bytes);
      const stream = /stream-(\d+)/.exec(text)?.[1];
      if (stream === undefined) return;
      skip = text.startsWith("GET ") ? 0 : 1;
      this.#passed.set(Number(stream), passed);
    });
    const counter = new FrameCounter();
    const answers = this.#pump(far, near, (bytes, at) => {
      for (let count = counter.feed(bytes, bytes.length); count > 0; count--) {
        if (skip > 0) skip--;
        else passed.push(at);
      }
    });
    await Promise.race([requests, answers]).catch(() => {});
    end();
    await Promise.allSettled([requests, answers]);
  }

  async #pump(
    from: Deno.TcpConn,
    to: Deno.TcpConn,
    note: (bytes: Uint8Array, at: number) => void,
  ): Promise<void> {
    const buffer = new Uint8Array(READ_BYTES);
    for (;;) {
      const size = await from.read(buffer);
      if (size === null) return;
      const bytes = buffer.subarray(0, size);
      note(bytes, performance.now());
      for (let at = 0; at < size;) at += await to.write(bytes.subarray(at));
    }
  }
}
