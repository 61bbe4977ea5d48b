import { assert, assertEquals, assertRejects } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { event, goRound, openBody } from "../helpers/open_body.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { ScriptedEngine } from "../helpers/scripted_engine.ts";
import { simulation } from "../helpers/simulation.ts";

const N = 8;
const hello = generate("hello", N).map(event);

/** A stream of the simulated engine with this fault, read until it ends or breaks. */
async function suffer(fault: string) {
  const { clock, engine } = simulation();
  const opened = openBody(engine, clock, { prompt: "hello", maxTokens: N, fault });
  const chunks: string[] = [];
  const times: number[] = [];
  let broken: unknown;
  const reading = (async () => {
    try {
      for (let chunk = await opened.read(); chunk !== null; chunk = await opened.read()) {
        chunks.push(chunk);
        times.push(clock.now());
      }
    } catch (error) {
      broken = error;
    }
  })();
  await clock.pass(2000);
  await goRound();
  await reading;
  await settle();
  assertEquals([clock.deadlines, engine.slots().in_use], [[], 0]);
  return { ...opened, chunks, times, broken, whole: chunks.join("") };
}

Deno.test("error@N is an event after N tokens, and no [DONE]", async () => {
  const { whole, record, broken } = await suffer("error@3:overloaded");
  const told = 'event: error\ndata: {"code":"overloaded","message":"The fault error@3 was asked for."}\n\n';
  assertEquals(whole, hello.slice(0, 3).join("") + told);
  assertEquals([record.outcome, record.error, broken], ["failed", "overloaded", undefined]);
});

Deno.test("close@N ends the body cleanly after N tokens, and no [DONE]", async () => {
  for (const at of [0, 3, N]) {
    const { whole, record, broken } = await suffer(`close@${at}`);
    assertEquals([whole, broken], [hello.slice(0, at).join(""), undefined]);
    assertEquals([record.outcome, record.error, record.generated], ["failed", "injected_fault", at]);
  }
});

Deno.test("reset@N breaks the body after N tokens that were all delivered", async () => {
  for (const at of [0, 3, N]) {
    const { whole, record, broken } = await suffer(`reset@${at}`);
    assertEquals(whole, hello.slice(0, at).join(""));
    assert(broken instanceof Error && broken.message.includes(`reset@${at}`), String(broken));
    assertEquals([record.outcome, record.error, record.generated], ["failed", "injected_fault", at]);
  }
});

Deno.test("reset@N after a chunk that nobody has taken yet still delivers it first", async () => {
  const { clock, engine } = simulation();
  const { read } = openBody(engine, clock, { prompt: "hello", maxTokens: N, fault: "reset@1" });
  await clock.pass(1000);
  assertEquals(await read(), hello[0]);
  // The failure is met only when the reader is back.
  await settle();
  await goRound();
  await assertRejects(read, Error, "reset@1");
});

Deno.test("a reset comes a turn after what was written last, so that the server has written it", async () => {
  const { clock, engine } = simulation();
  const { read } = openBody(engine, clock, { prompt: "hello", maxTokens: N, fault: "reset@1" });
  const first = read();
  await clock.pass(200);
  assertEquals(await first, hello[0]);
  let broken = false;
  const second = read().catch(() => broken = true);
  await clock.pass(1000);
  assertEquals(broken, false);
  await goRound();
  await second;
  assertEquals(broken, true);
});

Deno.test("malformed@N is one line that is no JSON between whole events, and the stream goes on", async () => {
  const { whole, record } = await suffer("malformed@3");
  assertEquals(
    whole,
    hello.slice(0, 3).join("") + 'data: {"token": \n\n' + hello.slice(3).join("") + "data: [DONE]\n\n",
  );
  assertEquals([record.outcome, record.generated, record.delivered], ["completed", N, N]);
});

Deno.test("split@N writes one event in pieces, cut inside a character, each its own chunk at its own time", async () => {
  const { clock, engine } = simulation();
  const { reader } = openBody(engine, clock, { prompt: "hello", maxTokens: N, fault: "split@3" });
  const chunks: Uint8Array[] = [];
  const times: number[] = [];
  const reading = (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      chunks.push(read.value);
      times.push(clock.now());
    }
  })();
  await clock.pass(2000);
  await reading;
  const text = new TextDecoder();
  const whole = chunks.map((chunk) => text.decode(chunk, { stream: true })).join("");
  assertEquals(whole, hello.join("") + "data: [DONE]\n\n");
  // Token 5 is the first with a wide character: three pieces, 5 ms apart, where an event each stood before.
  const pieces = chunks.slice(5, 8).map((chunk) => new TextDecoder().decode(chunk));
  assertEquals(pieces.map((piece) => piece.includes("\uFFFD")), [false, true, true]);
  assertEquals(times.slice(5, 8), [305, 310, 315]);
});

Deno.test("nothing comes between the pieces of a split event, whenever the reader takes them", async () => {
  const clock = new ManualClock();
  const engine = new ScriptedEngine(clock);
  const { read, drain } = openBody(engine, clock);
  engine.tokens.give("a", { text: "é", tokens: 1, wire: "split" }, "b", "c");
  engine.tokens.end();
  await settle();
  const chunks = [await read()];
  const rest = drain();
  await clock.pass(100);
  chunks.push(...await rest);
  assertEquals(chunks[0], event("a"));
  assertEquals(chunks.join(""), ["a", "é", "b", "c"].map(event).join("") + "data: [DONE]\n\n");
  await goRound();
});

Deno.test("leaving between the pieces of a split event stops them", async () => {
  const { clock, engine } = simulation();
  const { reader, read, record } = openBody(engine, clock, {
    prompt: "hello",
    maxTokens: N,
    fault: "split@5",
  });
  const reading = (async () => {
    for (let i = 0; i < 6; i++) await read();
  })();
  await clock.pass(305);
  await reading;
  await reader.cancel();
  await clock.pass(2000);
  assertEquals([record.outcome, record.generated, clock.deadlines], ["aborted", 6, []]);
});

Deno.test("stall@N and slow@N are silence of their length, and the text stays whole", async () => {
  for (const kind of ["stall", "slow"]) {
    const { whole, times } = await suffer(`${kind}@3:100`);
    assertEquals(whole, hello.join("") + "data: [DONE]\n\n");
    assertEquals(times.slice(0, 5), [200, 220, 240, 360, 380]);
  }
});
