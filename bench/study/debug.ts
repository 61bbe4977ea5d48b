import { z } from "zod";
import { HttpConnection } from "../http.ts";

const Sums = z.object({
  completed: z.number(),
  aborted: z.number(),
  failed: z.number(),
  running: z.number(),
  total: z.number(),
});

const Totals = z.object({
  requests: Sums,
  generated: Sums,
  slots: z.object({ max: z.number(), in_use: z.number() }),
  queue: z.number(),
});

const Records = z.object({
  requests: z.array(z.object({
    id: z.string(),
    outcome: z.enum(["running", "completed", "aborted", "failed"]),
    generated: z.number(),
    generated_after_abort: z.number(),
    stop_ms: z.number().nullable(),
  })),
});

/** The server's own sums. */
export type Totals = z.infer<typeof Totals>;
/** What the server recorded of one generation. */
export type ServerRecord = z.infer<typeof Records>["requests"][number];

/** Asks a server what it really did, over one connection that stays open, so that asking costs it little. */
export class Debug implements Disposable {
  readonly #url: string;
  readonly #connection: HttpConnection;

  private constructor(url: string, connection: HttpConnection) {
    this.#url = url;
    this.#connection = connection;
  }

  static async open(url: string): Promise<Debug> {
    return new Debug(url, await HttpConnection.open(url));
  }

  async totals(): Promise<Totals> {
    return Totals.parse(await this.#get("/_debug/totals"));
  }

  async records(): Promise<ServerRecord[]> {
    return Records.parse(await this.#get("/_debug/requests")).requests;
  }

  [Symbol.dispose]() {
    this.#connection.close();
  }

  async #get(path: string): Promise<unknown> {
    const response = await this.#connection.fetch(this.#url + path);
    const body = await response.text();
    if (response.status !== 200) throw new Error(`${path}: wanted status 200, got ${response.status}`);
    return JSON.parse(body);
  }
}
