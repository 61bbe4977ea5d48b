import { z } from "zod";
import { quote } from "../lib/errors.ts";
import { HttpConnection } from "./http.ts";

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

const ServerRecord = z.object({
  id: z.string(),
  outcome: z.enum(["running", "completed", "aborted", "failed"]),
  requested: z.number(),
  generated: z.number(),
  generated_after_abort: z.number(),
});

const Records = z.object({ requests: z.array(ServerRecord) });

const TokenTime = z.object({ planned_us: z.number(), actual_us: z.number() });

const TimedRecord = z.object({ tokens: z.array(TokenTime) });

/** The server's own sums. */
export type Totals = z.infer<typeof Totals>;
/** What the server recorded of one generation. */
export type ServerRecord = z.infer<typeof ServerRecord>;
/** When the server was to produce a token, and when it did. */
export type TokenTime = z.infer<typeof TokenTime>;

/**
 * Asks a server what it really did, over one connection that stays open, so that asking costs it little. Each question
 * throws an error that says what was wanted and what came, when the answer is not that of a Tokentap.
 */
export class Debug implements Disposable {
  readonly #url: string;
  readonly #connection: HttpConnection;

  private constructor(url: string, connection: HttpConnection) {
    this.#url = url;
    this.#connection = connection;
  }

  /** @param url the server's address, without a path of its own */
  static async open(url: string): Promise<Debug> {
    return new Debug(url.replace(/\/+$/, ""), await HttpConnection.open(url));
  }

  totals(): Promise<Totals> {
    return this.#get("/_debug/totals", Totals);
  }

  async records(): Promise<ServerRecord[]> {
    return (await this.#get("/_debug/requests", Records)).requests;
  }

  /** The latest streamed request, also while it runs. */
  latest(signal?: AbortSignal): Promise<ServerRecord> {
    return this.#get("/_debug/generated", ServerRecord, signal);
  }

  async tokenTimes(id: string): Promise<TokenTime[]> {
    return (await this.#get(`/_debug/requests/${id}?tokens=1`, TimedRecord)).tokens;
  }

  [Symbol.dispose]() {
    this.#connection.close();
  }

  async #get<T>(path: string, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    const response = await this.#connection.fetch(this.#url + path, { signal });
    const body = await response.text();
    if (response.status !== 200) throw new Error(`${path}: wanted status 200, got ${response.status}`);
    let answer: unknown;
    try {
      answer = JSON.parse(body);
    } catch {
      throw new Error(`${path}: wanted JSON, got ${quote(body)}: is it a Tokentap?`);
    }
    const parsed = schema.safeParse(answer, { error: wanted });
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new Error([path, ...issue.path, issue.message].join(": ") + ": is it a Tokentap?");
  }
}

const KINDS: Record<string, string> = {
  object: "an object",
  array: "a list",
  number: "a number",
  string: "a text",
};

/** In the words of all other messages, instead of those of zod. */
function wanted(issue: z.core.$ZodRawIssue): string {
  const kind = issue.code === "invalid_value"
    ? `one of ${issue.values.join(", ")}`
    : KINDS[`${issue.expected}`];
  return `wanted ${kind}, got ${came(issue.input)}`;
}

function came(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return quote(value);
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? KINDS.array : KINDS.object;
}
