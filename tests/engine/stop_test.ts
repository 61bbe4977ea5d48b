import { assertEquals, assertRejects } from "@std/assert";
import { stopping } from "../../lib/engine/stop.ts";
import { runStopping as run, type StopRun } from "../helpers/stopping.ts";

const texts = ({ tokens }: StopRun) => tokens.map(({ text }) => text);

Deno.test("a stop string ends the tokens before it, and the engine has let go by then", async () => {
  const out = await run([" one", " two", " three", " four"], { stop: ["three"] });
  assertEquals(texts(out), [" one", " two", " "]);
  assertEquals([out.finish, out.made, out.released], ["stop", 3, true]);
});

Deno.test("a stop string is found across the borders of tokens", async () => {
  const out = await run(["a", " ST", "O", "P b"], { stop: ["STOP"] });
  assertEquals(texts(out), ["a", " "]);
  assertEquals([out.finish, out.made], ["stop", 4]);
});

Deno.test("what only began like a stop string is handed over as the tokens it came in", async () => {
  const out = await run(["x", "ST", "O", "ne", "ST"], { stop: ["STOP"] });
  assertEquals(texts(out), ["x", "ST", "O", "ne", "ST"]);
  assertEquals(out.finish, "length");
});

Deno.test("a token that cannot be part of a stop string is not held back", async () => {
  const stream = stopping({
    async *generate() {
      yield { text: "a", tokens: 1 };
      await new Promise(() => {});
    },
  }).generate(
    { id: "1", key: "", prompt: "p", maxTokens: 9, promptTokens: 1, stop: ["b"] },
    new AbortController().signal,
    { prefill() {}, produced() {}, finished() {}, usage() {}, upstreamClosed() {} },
  );
  assertEquals((await stream.next()).value, { text: "a", tokens: 1 });
});

Deno.test("stop strings in the first min_tokens tokens do not count, nor do those that begin there", async () => {
  const out = await run(["END", "EN", "D", "END"], { stop: ["END"], minTokens: 2 });
  assertEquals(texts(out), ["END", "EN", "D"]);
  assertEquals(out.finish, "stop");
});

Deno.test("reasoning is never searched for stop strings", async () => {
  const thought = { text: "END", tokens: 1, reasoning: true };
  const out = await run([thought, "said", "END"], { stop: ["END"] });
  assertEquals(out.tokens, [thought, { text: "said", tokens: 1 }]);
});

for (const odd of [{ wire: "malformed" as const }, { reasoning: true }]) {
  Deno.test(`a stop string is found across what is no part of the text: ${JSON.stringify(odd)}`, async () => {
    const between = { text: "END", tokens: 1, ...odd };
    const out = await run(["a", " ST", between, "OP b", "c"], { stop: ["STOP"] });
    assertEquals([out.tokens.map(({ text }) => text).join(""), out.finish, out.made], ["a ", "stop", 4]);
    const none = await run(["a", " ST", between, "ay", between], { stop: ["STOP"] });
    assertEquals(none.tokens.map(({ text }) => text), ["a", " ST", "END", "ay", "END"]);
  });
}

Deno.test("the engine keeps its place until what came before the stop string is handed over", async () => {
  let released = false;
  const engine = {
    async *generate() {
      try {
        yield { text: "a END", tokens: 1 };
      } finally {
        released = true;
      }
    },
  };
  const watch = { prefill() {}, produced() {}, finished() {}, usage() {}, upstreamClosed() {} };
  const request = { id: "1", key: "", prompt: "p", maxTokens: 9, promptTokens: 1, stop: ["END"] };
  const stream = stopping(engine).generate(request, new AbortController().signal, watch);
  assertEquals([(await stream.next()).value, released], [{ text: "a ", tokens: 1 }, false]);
  assertEquals([(await stream.next()).done, released], [true, true]);
});

Deno.test("what is held back when the engine fails is handed over before the failure", async () => {
  const got: string[] = [];
  await assertRejects(
    () => run(["a", "ST", new Error("broken")], { stop: ["STOP"] }, ({ text }) => got.push(text)),
    Error,
    "broken",
  );
  assertEquals(got, ["a", "ST"]);
});
