import { assertEquals, assertLess } from "@std/assert";
import { UpstreamEngine } from "../../lib/engine/upstream.ts";
import { nextRound } from "../../lib/event_loop.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { NotedWatch } from "../helpers/noted_watch.ts";
import { delta, DONE } from "../helpers/scripted_upstream.ts";
import { until } from "../helpers/until.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const TOKENS = 10_000;

/** Reads all of a stream whose next read is always ready, each `everyMs` behind the one before it. */
async function readAll(everyMs: number) {
  const clock = new ManualClock();
  let reads = 0;
  /** How many reads there were before each round of the event loop, and after the last. */
  const perRound = [0];
  const round = () => {
    if (perRound.at(-1)! > 0) perRound.push(0);
    if (reads <= TOKENS) nextRound(round);
  };
  const pieces = [HEAD, delta("x"), DONE].map((text) => new TextEncoder().encode(text));
  const engine = new UpstreamEngine(
    { url: "http://up/v1", model: "m" },
    { connectMs: 1e9, idleMs: 1e9, totalMs: 1e9 },
    clock,
    () =>
      Promise.resolve({
        read(into) {
          const piece = pieces[reads === 0 ? 0 : reads <= TOKENS ? 1 : 2];
          reads++;
          perRound[perRound.length - 1]++;
          clock.advance(everyMs);
          into.set(piece);
          return Promise.resolve(piece.length);
        },
        write: (bytes) => Promise.resolve(bytes.length),
        close() {},
      }),
  );
  const request = { id: "1", key: "", prompt: "p", maxTokens: TOKENS, promptTokens: 1 };
  const reader = new EagerReader(
    engine.generate(request, new AbortController().signal, new NotedWatch()),
    clock,
  );
  nextRound(round);
  await until("the stream's end", () => reader.ended || reader.error);
  assertEquals([reader.error, reader.tokens.length], [undefined, TOKENS]);
  return perRound;
}

Deno.test("an upstream that is always ready lets the event loop go round every half millisecond", async () => {
  assertLess(Math.max(...await readAll(0.1)), 20);
});

Deno.test("an upstream whose events are waited for is read on without a round in between", async () => {
  assertLess((await readAll(5)).length, 10);
});
