import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { TapError } from "../../../lib/errors.ts";
import { LlamaEngine, type LlamaOptions } from "../../../lib/engine/llama.ts";
import type { SamplerConfig } from "../../../lib/engine/llama/binding.ts";
import { all, countOf, OPTIONS, request, Seen, textOf } from "./harness.ts";
import { END, type Script, ScriptedBinding, START } from "./scripted_binding.ts";

/** An engine that writes the alphabet, from the place in it that the length of its sequence says. */
async function alphabet(script: Partial<Script> = {}, options: Partial<LlamaOptions> = {}) {
  const binding = new ScriptedBinding({ answer: (history) => 97 + (history.length % 26), ...script });
  return { binding, engine: await LlamaEngine.create(binding, binding.model, { ...OPTIONS, ...options }) };
}

const never = new AbortController().signal;

Deno.test("two generations share each decode, and each gets the text it gets alone", async () => {
  const { binding, engine } = await alphabet();
  const alone = textOf(await all(engine.generate(request("a", 20), never, new Seen())));
  binding.decodes.length = 0;
  const both = await Promise.all([
    all(engine.generate(request("a", 20), never, new Seen())),
    all(engine.generate(request("b", 20), never, new Seen())),
  ]);
  assertEquals(both.map(textOf), [alone, alone]);
  assertEquals(binding.decodes.map((decode) => Object.keys(decode).length), Array(20).fill(2));
});

Deno.test("nothing is decoded ahead of a reader", async () => {
  const { binding, engine } = await alphabet();
  const seen = new Seen();
  const tokens = engine.generate(request("a", 20), never, seen);
  for (let index = 0; index < 3; index++) await tokens.next();
  await all(engine.generate(request("another", 20), never, new Seen()));
  assertEquals(seen.tokens, 3);
  assertEquals(binding.decodes.filter((decode) => 0 in decode && 1 in decode).length, 0);
  await tokens.return();
});

Deno.test("a long prompt goes in pieces, and a running sequence has its token in each of those decodes", async () => {
  const { binding, engine } = await alphabet();
  const running = engine.generate(request("a", 20), never, new Seen());
  await running.next();
  binding.decodes.length = 0;
  const [long] = await Promise.all([
    engine.generate(request("x".repeat(199), 1), never, new Seen()).next(),
    (async () => {
      for (let index = 0; index < 4; index++) await running.next();
    })(),
  ]);
  assertEquals((long.value as { tokens: number }).tokens, 1);
  assertEquals(binding.decodes.slice(0, 4), [{ 0: 1, 1: 63 }, { 0: 1, 1: 63 }, { 0: 1, 1: 63 }, {
    0: 1,
    1: 11,
  }]);
  await running.return();
});

Deno.test("an abort within a prompt ends it with the decode under way, and nothing is generated", async () => {
  const controller = new AbortController();
  let decodes = 0;
  const { binding, engine } = await alphabet({
    decoding: () => {
      if (++decodes === 2) controller.abort();
      return Promise.resolve();
    },
  });
  const seen = new Seen();
  assertEquals(await all(engine.generate(request("x".repeat(500), 5), controller.signal, seen)), []);
  assertEquals([binding.decodes.length, seen.tokens, seen.reason], [2, 0, undefined]);
  assertEquals(engine.slots(), { max: 4, in_use: 0, queue: 0 });
  assertEquals(binding.samplers, 0);
});

Deno.test("an abort between two tokens is the end: no further decode, the sequence and its sampler are free", async () => {
  const { binding, engine } = await alphabet();
  const controller = new AbortController();
  const seen = new Seen();
  const tokens = engine.generate(request("a", 100), controller.signal, seen);
  for (let index = 0; index < 5; index++) await tokens.next();
  const decodes = binding.decodes.length;
  controller.abort();
  assertEquals((await tokens.next()).done, true);
  assertEquals([binding.decodes.length, seen.tokens, binding.samplers], [decodes, 5, 0]);
  assertEquals(engine.slots().in_use, 0);
});

Deno.test("an abort while others decode ends at once what waits for the next decode", async () => {
  const open: (() => void)[] = [];
  const { engine } = await alphabet({ decoding: () => new Promise((resolve) => open.push(resolve)) });
  const first = engine.generate(request("a", 1), never, new Seen()).next();
  while (open.length === 0) await new Promise((turn) => setTimeout(turn, 0));
  const controller = new AbortController();
  const waiting = all(engine.generate(request("b", 1), controller.signal, new Seen()));
  await new Promise((turn) => setTimeout(turn, 0)); // far enough to wait for the decoder
  assertEquals([engine.slots().in_use, open.length], [2, 1]);
  controller.abort();
  assertEquals(await waiting, []);
  assertEquals(engine.slots().in_use, 1);
  for (const resolve of open) resolve();
  await first;
});

Deno.test("temperature, seed and top_p reach the sampler; without them the likeliest token is taken", async () => {
  const configs: SamplerConfig[] = [];
  const answer = (_: readonly number[], config: SamplerConfig) => {
    configs.push(config);
    return 97;
  };
  const { engine } = await alphabet({ answer });
  await all(engine.generate(request("a", 1), never, new Seen()));
  await all(engine.generate(request("a", 1, { temperature: 0.5, seed: -1, topP: 0.9 }), never, new Seen()));
  assertEquals(configs, [{ temperature: 0, seed: 0 }, { temperature: 0.5, seed: 4294967295, topP: 0.9 }]);
});

Deno.test("what the sampler is not set up for is refused by name; a neutral value asks for nothing", async () => {
  const { engine } = await alphabet();
  const refused = [
    ["presence_penalty", { presencePenalty: 1 }],
    ["frequency_penalty", { frequencyPenalty: -0.5 }],
    ["repetition_penalty", { repetitionPenalty: 1.1 }],
    ["top_k", { topK: 40 }],
    ["min_p", { minP: 0.1 }],
  ] as const;
  for (const [param, more] of refused) {
    const error = assertThrows(() => engine.generate(request("a", 1, more), never, new Seen()), TapError);
    assertEquals([error.code, error.param], ["invalid_request", param]);
  }
  const none = { presencePenalty: 0, frequencyPenalty: 0, repetitionPenalty: 1, topK: -1, minP: 0 };
  assertEquals(countOf(await all(engine.generate(request("a", 1, none), never, new Seen()))), 1);
});

Deno.test("a prompt of more tokens than a call takes arguments gets its start token", async () => {
  const { engine } = await alphabet({ trainContextSize: 300_000 }, { contextLength: 300_000 });
  // Never started: what is asked here is only that the prompt is put together.
  engine.generate(request("a".repeat(200_000), 1), never, new Seen());
  const error = assertThrows(
    () => engine.generate(request("a".repeat(200_000), 100_000), never, new Seen()),
    TapError,
  );
  assertEquals(error.message.includes("the prompt has 200001"), true);
});

Deno.test("who leaves the queue has taken no sequence, and the next in line gets the free one", async () => {
  const { engine } = await alphabet({}, { sequences: 1 });
  const first = engine.generate(request("a", 2), never, new Seen());
  await first.next();
  const controller = new AbortController();
  const [left, next] = [new Seen(), new Seen()];
  const leaving = all(engine.generate(request("b", 2), controller.signal, left));
  const waiting = all(engine.generate(request("c", 2), never, next));
  assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 2 });
  controller.abort();
  assertEquals(await leaving, []);
  assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 1 });
  await first.return();
  assertEquals(countOf(await waiting), 2);
  assertEquals([left.admitted, next.admitted], [0, 1]);
});

Deno.test("a full queue refuses with rate_limit", async () => {
  const { engine } = await alphabet({}, { sequences: 1, maxQueue: 0 });
  const first = engine.generate(request("a", 2), never, new Seen());
  await first.next();
  const refused = await assertRejects(
    () => engine.generate(request("b", 2), never, new Seen()).next(),
    TapError,
  );
  assertEquals(refused.code, "rate_limit");
  await first.return();
  assertEquals(engine.slots().in_use, 0);
});

Deno.test("a generation that is never started holds nothing", async () => {
  const { engine } = await alphabet();
  await engine.generate(request("a", 2), never, new Seen()).return();
  assertEquals(engine.slots().in_use, 0);
});

Deno.test("the model's end is no token and gives the reason stop; the limit gives length", async () => {
  const { engine } = await alphabet({ answer: (history) => history.length < 5 ? 97 : END });
  const [ended, cut] = [new Seen(), new Seen()];
  assertEquals(textOf(await all(engine.generate(request("a", 20), never, ended))), "aaa");
  assertEquals([ended.tokens, ended.reason], [3, "stop"]);
  assertEquals(ended.counts, { prompt_tokens: 2, completion_tokens: 3 });
  assertEquals(textOf(await all(engine.generate(request("a", 2), never, cut))), "aa");
  assertEquals(cut.reason, "length");
});

Deno.test("with min_tokens the model cannot end before; with ignore_eos not at all", async () => {
  const { engine } = await alphabet({
    answer: (_, { tokenBiasKeys, tokenBiasValues }) =>
      tokenBiasKeys?.includes(END) && tokenBiasValues?.[0] === -Infinity ? 97 : END,
  });
  const count = async (more: object) =>
    countOf(await all(engine.generate(request("a", 9, more), never, new Seen())));
  assertEquals([await count({}), await count({ minTokens: 4 }), await count({ ignoreEos: true })], [0, 4, 9]);
});

Deno.test("a character over three tokens is one step of three tokens; cut by the limit it still counts", async () => {
  const bytes = new TextEncoder().encode("한");
  const { engine } = await alphabet({ answer: (history) => bytes[(history.length - 2) % 3]! });
  assertEquals(await all(engine.generate(request("a", 6), never, new Seen())), [
    { text: "한", tokens: 3 },
    { text: "한", tokens: 3 },
  ]);
  assertEquals(await all(engine.generate(request("a", 5), never, new Seen())), [
    { text: "한", tokens: 3 },
    { text: "\uFFFD", tokens: 2 },
  ]);
});

Deno.test("prompt and answer beyond the context are refused before anything is decoded", async () => {
  const { binding, engine } = await alphabet({ trainContextSize: 10 });
  const error = assertThrows(() => engine.generate(request("abcd", 6), never, new Seen()), TapError);
  assertEquals(error.code, "context_length");
  assertEquals(
    error.message,
    "The model holds 10 tokens; the prompt has 5 and max_tokens is 6, together 11.",
  );
  assertEquals(countOf(await all(engine.generate(request("abcd", 5), never, new Seen()))), 5);
  assertEquals(binding.decodes.length, 5);
});

Deno.test("a failed decode fails its generations and frees their sequences", async () => {
  let fail = true;
  const { binding, engine } = await alphabet({
    decoding: () => fail ? Promise.reject(new Error("Eval has failed")) : Promise.resolve(),
  });
  const started = ["a", "b"].map((prompt) => all(engine.generate(request(prompt, 5), never, new Seen())));
  for (const generation of started) await assertRejects(() => generation, Error, "Eval has failed");
  assertEquals([engine.slots().in_use, binding.samplers], [0, 0]);
  fail = false;
  assertEquals(countOf(await all(engine.generate(request("a", 5), never, new Seen()))), 5);
});

Deno.test("a chat is written by the model's template; what it refuses is invalid_request", async () => {
  const prompts: number[][] = [];
  const answer = (history: readonly number[]) => {
    prompts.push([...history]);
    return 97;
  };
  const { engine } = await alphabet({ answer }, { chatTemplate: "T" });
  const messages = [{ role: "user", content: "x" }, { role: "user", content: "y" }];
  await all(engine.generate(request("y", 1, { messages }), never, new Seen()));
  assertEquals(prompts, [[START, ...new TextEncoder().encode("T:x|y")]]);
  const odd = [{ role: "odd", content: "x" }];
  const error = assertThrows(
    () => engine.generate(request("x", 1, { messages: odd }), never, new Seen()),
    TapError,
  );
  assertEquals(error.code, "invalid_request");
});

Deno.test("control tokens written in a plain prompt are text", async () => {
  const prompts: number[][] = [];
  const answer = (history: readonly number[]) => {
    prompts.push([...history]);
    return 97;
  };
  const { engine } = await alphabet({ answer });
  await all(engine.generate(request("<s>x", 1), never, new Seen()));
  assertEquals(prompts, [[START, ...new TextEncoder().encode("<s>x")]]);
});

Deno.test("close ends what runs, waits for the decode under way and frees the model last", async () => {
  const { binding, engine } = await alphabet();
  const running = all(engine.generate(request("a", 500), never, new Seen()));
  while (binding.decodes.length < 3) await new Promise((turn) => setTimeout(turn, 0));
  await engine.close();
  await running;
  assertEquals(binding.disposed, ["context", "model"]);
  assertEquals(binding.samplers, 0);
});
