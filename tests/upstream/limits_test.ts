import { assert, assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import type { EngineRequest } from "../../lib/engine/engine.ts";
import { UpstreamEngine } from "../../lib/engine/upstream.ts";
import type { Socket } from "../../lib/http/socket.ts";
import { TapError } from "../../lib/errors.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { NotedWatch } from "../helpers/noted_watch.ts";
import { delta, DONE, finish, PING, ROLE } from "../helpers/scripted_upstream.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const REQUEST: EngineRequest = { id: "1", key: "", prompt: "p", maxTokens: 100, promptTokens: 1 };

/** A connection whose bytes the test says; it counts how often it is asked for them. */
class SaidConnection implements Socket {
  reads = 0;
  closed = 0;
  #said: Uint8Array[] = [];
  #waiting: { into: Uint8Array; resolve: (size: number) => void; reject: (error: Error) => void } | undefined;

  say(text: string): void {
    this.#said.push(new TextEncoder().encode(text));
    this.#serve();
  }
  read(into: Uint8Array): Promise<number | null> {
    this.reads++;
    return new Promise((resolve, reject) => {
      this.#waiting = { into, resolve, reject };
      this.#serve();
    });
  }
  write(bytes: Uint8Array): Promise<number> {
    // Never all at once, as a socket may do.
    return Promise.resolve(Math.min(bytes.length, 100));
  }
  close(): void {
    this.closed++;
    this.#waiting?.reject(new Error("closed"));
  }
  #serve(): void {
    const piece = this.#said.shift();
    if (piece === undefined || this.#waiting === undefined) {
      if (piece !== undefined) this.#said.unshift(piece);
      return;
    }
    const { into, resolve } = this.#waiting;
    this.#waiting = undefined;
    into.set(piece);
    resolve(piece.length);
  }
}

function begin(connect?: () => Promise<Socket>) {
  const clock = new ManualClock();
  const connection = new SaidConnection();
  const watch = new NotedWatch();
  const closedAt: number[] = [];
  watch.upstreamClosed = (now) => void closedAt.push(now);
  const engine = new UpstreamEngine(
    { url: "http://up/v1", model: "m" },
    { connectMs: 5000, idleMs: 60_000, totalMs: 600_000 },
    clock,
    connect ?? (() => Promise.resolve(connection)),
  );
  const left = new AbortController();
  const tokens = engine.generate(REQUEST, left.signal, watch);
  return { clock, connection, watch, tokens, left, closedAt };
}

function codeOf(reader: EagerReader): string | undefined {
  return reader.error instanceof TapError ? `${reader.error.code}: ${reader.error.message}` : undefined;
}

Deno.test("60 s of silence end a generation; pings and comments are silence too", async () => {
  const { clock, connection, tokens, closedAt } = begin();
  const reader = new EagerReader(tokens, clock);
  await settle();
  connection.say(HEAD + ROLE);
  for (let second = 0; second < 59; second++) {
    await clock.pass(1000);
    connection.say(PING + 'data: {"choices":[]}\n\n');
    await settle();
  }
  assertEquals([codeOf(reader), connection.closed], [undefined, 0]);
  await clock.pass(1000);
  assertEquals(codeOf(reader), "upstream_timeout: The upstream server said nothing within 60 s.");
  assertEquals([connection.closed, closedAt, clock.deadlines], [1, [60_000], []]);
});

Deno.test("a token begins the silence anew", async () => {
  const { clock, connection, tokens } = begin();
  const reader = new EagerReader(tokens, clock);
  await settle();
  connection.say(HEAD);
  for (let i = 0; i < 5; i++) {
    connection.say(delta("x"));
    await clock.pass(59_999);
  }
  assertEquals([codeOf(reader), reader.tokens.length], [undefined, 5]);
  await clock.pass(1);
  assertEquals(codeOf(reader), "upstream_timeout: The upstream server said nothing within 60 s.");
});

Deno.test("a head that does not come is silence", async () => {
  const { clock, tokens, connection } = begin();
  const reader = new EagerReader(tokens, clock);
  await clock.pass(60_000);
  assertEquals(codeOf(reader), "upstream_timeout: The upstream server said nothing within 60 s.");
  await assertRejects(() => tokens.started, TapError);
  assertEquals(connection.closed, 1);
});

Deno.test("the total limit ends a generation that is never silent", async () => {
  const { clock, connection, tokens } = begin();
  const reader = new EagerReader(tokens, clock);
  await settle();
  connection.say(HEAD);
  for (let second = 0; second < 600; second++) {
    connection.say(delta("x"));
    await clock.pass(1000);
  }
  assertEquals(codeOf(reader), "upstream_timeout: The upstream server did not end within 600 s.");
  assertEquals([reader.tokens.length, connection.closed], [600, 1]);
});

Deno.test("a connection that comes after its limit is closed and not used", async () => {
  const late = Promise.withResolvers<Socket>();
  const { clock, connection, tokens } = begin(() => late.promise);
  const reader = new EagerReader(tokens, clock);
  await clock.pass(5000);
  assertEquals(codeOf(reader), "upstream_timeout: The upstream server did not connect within 5 s.");
  late.resolve(connection);
  await settle();
  assertEquals([connection.closed, connection.reads], [1, 0]);
});

Deno.test("reading stops while the reader does not take what has come, and that is no silence", async () => {
  const { clock, connection, tokens, watch } = begin();
  await settle();
  connection.say(HEAD);
  for (let i = 0; i < 1000; i++) connection.say(delta("x"));
  await settle();
  await settle();
  assertLessOrEqual(watch.tokens, 64);
  const reads = connection.reads;
  await clock.pass(300_000);
  assertEquals(connection.reads, reads);
  const reader = new EagerReader(tokens, clock);
  for (let i = 0; i < 50; i++) await settle();
  assertEquals([codeOf(reader), reader.tokens.length], [undefined, 1000]);
  await clock.pass(59_999);
  assertEquals(codeOf(reader), undefined);
  await clock.pass(1);
  assertEquals(codeOf(reader), "upstream_timeout: The upstream server said nothing within 60 s.");
});

Deno.test("usage that comes after a slow reader has caught up is not missed", async () => {
  const { clock, connection, tokens, watch } = begin();
  const counts: number[] = [];
  watch.usage = ({ completion_tokens }) => void counts.push(completion_tokens);
  await settle();
  connection.say(HEAD);
  connection.say(delta("x").repeat(70) + finish());
  connection.say('data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":70}}\n\n' + DONE);
  await clock.pass(10_000);
  assertEquals(counts, []);
  const reader = new EagerReader(tokens, clock);
  await settle();
  assertEquals([counts, reader.tokens.length, reader.ended, connection.closed], [[70], 70, true, 1]);
});

Deno.test("nothing is produced, and nothing waits, after the signal", async () => {
  const { clock, connection, tokens, watch, left, closedAt } = begin();
  const reader = new EagerReader(tokens, clock);
  await settle();
  connection.say(HEAD + delta("a"));
  await settle();
  clock.advance(5);
  left.abort();
  assertEquals([connection.closed, closedAt], [1, [5]]);
  connection.say(delta("b"));
  await settle();
  assertEquals([watch.tokens, reader.tokens.length, reader.ended, reader.error], [1, 1, true, undefined]);
  assertEquals(clock.deadlines, []);
  await tokens.return();
  assertEquals([connection.closed, closedAt], [1, [5]]);
});

Deno.test("a signal that has aborted already opens no connection", async () => {
  let connects = 0;
  const { clock, watch, connection } = begin();
  await settle();
  const engine = new UpstreamEngine(
    { url: "http://up/v1", model: "m" },
    { connectMs: 1, idleMs: 1, totalMs: 1 },
    clock,
    () => {
      connects++;
      return Promise.resolve(connection);
    },
  );
  const tokens = engine.generate(REQUEST, AbortSignal.abort(), watch);
  assertEquals(await tokens.next(), { done: true, value: undefined });
  assertEquals(connects, 0);
});

Deno.test("the body of a refusal is not waited for longer than a second", async () => {
  const { clock, connection, tokens } = begin();
  const reader = new EagerReader(tokens, clock);
  await settle();
  connection.say('HTTP/1.1 429 No\r\nContent-Length: 100\r\nRetry-After: 3\r\n\r\n{"error":');
  await clock.pass(999);
  assertEquals(codeOf(reader), undefined);
  await clock.pass(1);
  assertEquals(codeOf(reader), "rate_limit: The upstream server answered 429.");
  assert(reader.error instanceof TapError && reader.error.retryAfter === 3);
  assertEquals([connection.closed, clock.deadlines], [1, []]);
});
