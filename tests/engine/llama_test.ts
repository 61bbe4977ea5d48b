import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { TapError } from "../../lib/errors.ts";
import type { LlamaEngine, LlamaOptions } from "../../lib/engine/llama.ts";
import { LlamaLoadError, loadLlama } from "../../lib/engine/llama/load.ts";
import { tinyGguf, type TinyGgufOptions } from "../helpers/tiny_gguf.ts";
import { all, countOf, OPTIONS, request, Seen, textOf } from "./llama/harness.ts";

/** Where everything must be tested. Elsewhere a test fetches no package of ten megabytes unasked. */
const inCi = Deno.env.get("CI") === "true";
const never = new AbortController().signal;

/** A file with `bytes`, removed at the end of the scope. */
async function temporary(bytes: Uint8Array) {
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  await Deno.writeFile(path, bytes);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

type Open = LlamaEngine & AsyncDisposable;

/** llama.cpp over a tiny model, closed at the end of the scope. One thread: the test machine may have no more. */
async function tiny(file: TinyGgufOptions = {}, options: Partial<LlamaOptions> = {}): Promise<Open> {
  await using model = await temporary(tinyGguf(file));
  const engine = await loadLlama({ ...OPTIONS, model: model.path, threads: 1, fetch: inCi, ...options });
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
}

/** Why the real package cannot be tested here, or undefined. */
async function missing(): Promise<string | undefined> {
  try {
    await using _engine = await tiny();
  } catch (error) {
    if (!(error instanceof LlamaLoadError) || !error.message.startsWith("--engine llama: ")) {
      throw error;
    }
    return error.message;
  }
}

const reason = await missing();
if (reason !== undefined) console.log(`The tests of the real llama.cpp are skipped: ${reason}`);
const ignore = reason !== undefined;

Deno.test("in CI the real llama.cpp is tested", { ignore: !inCi }, () => {
  assertEquals(reason, undefined);
});

Deno.test("tokens come one by one, each counted when it is handed over", { ignore }, async () => {
  await using engine = await tiny();
  const seen = new Seen();
  let handed = 0;
  for await (const { tokens } of engine.generate(request("hello 안녕", 60), never, seen)) {
    handed += tokens;
    assertEquals(seen.tokens, handed);
  }
  assertEquals([handed, seen.reason], [60, "length"]);
  assertEquals(seen.counts?.completion_tokens, 60);
});

Deno.test(
  "the same request has the same text, and its start is that of a longer one",
  { ignore },
  async () => {
    await using engine = await tiny();
    const text = async (maxTokens: number, more = {}) =>
      textOf(await all(engine.generate(request("hello", maxTokens, more), never, new Seen())));
    const long = await text(60);
    assertEquals(await text(60), long);
    assert(long.startsWith((await text(20)).replace(/\uFFFD$/, "")));
    const drawn = { temperature: 1, seed: 7 };
    assertEquals(await text(30, drawn), await text(30, drawn));
    assertNotEquals(await text(30, drawn), await text(30, { ...drawn, seed: 8 }));
  },
);

Deno.test("an abort stops decoding: at most the token under way is still produced", { ignore }, async () => {
  await using engine = await tiny();
  for (const waiting of [false, true]) {
    const controller = new AbortController();
    const seen = new Seen();
    const tokens = engine.generate(request("hello", 500), controller.signal, seen);
    for (let index = 0; index < 5; index++) await tokens.next();
    const before = seen.tokens;
    const next = waiting ? tokens.next() : undefined;
    controller.abort();
    await next;
    assertEquals((await tokens.next()).done, true);
    assert(seen.tokens - before <= 1, `${seen.tokens - before} tokens after the abort`);
    assertEquals(engine.slots().in_use, 0);
  }
});

Deno.test("an abort within a long prompt generates nothing", { ignore }, async () => {
  await using engine = await tiny();
  const controller = new AbortController();
  const seen = new Seen();
  const started = all(engine.generate(request("a".repeat(1500), 20), controller.signal, seen));
  while (seen.admitted === 0) await new Promise((turn) => setTimeout(turn, 0));
  controller.abort();
  assertEquals(await started, []);
  assertEquals([seen.tokens, engine.slots().in_use], [0, 0]);
});

Deno.test("more generations than sequences all have the text they have alone", { ignore }, async () => {
  await using engine = await tiny({}, { sequences: 2 });
  const prompts = ["hello", "the stream", "안녕 세상", "café"];
  const text = async (prompt: string) =>
    textOf(await all(engine.generate(request(prompt, 40), never, new Seen())));
  const alone: string[] = [];
  for (const prompt of prompts) alone.push(await text(prompt));
  assertEquals(new Set(alone).size, prompts.length);
  const together = Promise.all(prompts.map(text));
  assertEquals(engine.slots(), { max: 2, in_use: 2, queue: 2 });
  assertEquals(await together, alone);
  assertEquals(engine.slots(), { max: 2, in_use: 0, queue: 0 });
});

Deno.test(
  "a storm of generations that leave at any moment leaves no sequence taken",
  { ignore },
  async () => {
    await using engine = await tiny({}, { sequences: 3 });
    const cut = async (index: number) => {
      const controller = new AbortController();
      const seen = new Seen();
      let before = 0;
      const tokens = engine.generate(request("x".repeat(index * 7), 50), controller.signal, seen);
      setTimeout(() => {
        before = seen.tokens;
        controller.abort();
      }, index % 13);
      await all(tokens);
      return seen.tokens - before;
    };
    const after = await Promise.all(Array.from({ length: 40 }, (_, index) => cut(index)));
    assertEquals(after.filter((tokens) => tokens > 1), []);
    assertEquals(engine.slots(), { max: 3, in_use: 0, queue: 0 });
    assertEquals(countOf(await all(engine.generate(request("still well", 10), never, new Seen()))), 10);
  },
);

Deno.test("a chat is written by the template in the file", { ignore }, async () => {
  const chatTemplate =
    "{% for m in messages %}{% if m.role == 'odd' %}{{ raise_exception('no odd role') }}{% endif %}" +
    "{{ m.content }}{% endfor %}{% if add_generation_prompt %}:{% endif %}";
  await using engine = await tiny({ chatTemplate });
  const text = async (prompt: string, contents?: string[]) => {
    const messages = contents?.map((content) => ({ role: "user", content }));
    const made = request(prompt, 20, messages ? { messages } : {});
    return textOf(await all(engine.generate(made, never, new Seen())));
  };
  assertEquals(await text("", ["one", "two"]), await text("onetwo:"));
  const odd = [{ role: "odd", content: "x" }];
  const error = assertThrows(
    () => engine.generate(request("x", 1, { messages: odd }), never, new Seen()),
    TapError,
    "no odd role",
  );
  assertEquals(error.code, "invalid_request");
});

Deno.test("a file that is no model is one clear line", async (test) => {
  const whole = tinyGguf();
  const cases: [name: string, bytes: Uint8Array, wanted: RegExp][] = [
    [
      "empty",
      new Uint8Array(),
      /^--model: wanted a GGUF file, but ".*" ends within its metadata \(0 bytes\)$/,
    ],
    [
      "text",
      new TextEncoder().encode("just words"),
      /^--model: .* of ".*" it begins with "just" instead of "GGUF"$/,
    ],
    ["cut in the metadata", whole.slice(0, 2000), /^--model: .* ends within its metadata \(2000 bytes\)$/],
  ];
  if (!ignore) {
    cases.push([
      "cut in the weights",
      whole.slice(0, 200_000),
      /^--model: llama\.cpp could not load ".*": .+ corrupted or incomplete$/,
    ]);
  }
  for (const [name, bytes, wanted] of cases) {
    await test.step(name, async () => {
      await using file = await temporary(bytes);
      const { message } = await assertRejects(
        () => loadLlama({ ...OPTIONS, model: file.path }),
        LlamaLoadError,
      );
      assert(wanted.test(message), message);
    });
  }
  await test.step("not there", async () => {
    const { message } = await assertRejects(
      () => loadLlama({ ...OPTIONS, model: "no/such.gguf" }),
      LlamaLoadError,
    );
    assertEquals(message, `--model: wanted a GGUF file, found no file "no/such.gguf"`);
  });
});

Deno.test("a package that is not installed, or cannot be had, is one clear line", async (test) => {
  await using file = await temporary(tinyGguf());
  await using pins = await unknownPins();
  const load = (fetch: boolean) =>
    assertRejects(() => loadLlama({ ...OPTIONS, model: file.path, pins: pins.url, fetch }), LlamaLoadError);
  await test.step("not installed", async () => {
    const { message } = await load(false);
    const wanted =
      /^--engine llama: the package @node-llama-cpp\/[\w-]+ is not installed; run once: deno install --quiet --frozen --config \/.+\.json$/;
    assert(wanted.test(message), message);
  });
  await test.step("not to be had", async () => {
    const { message } = await load(true);
    assert(/^--engine llama: could not get the package @node-llama-cpp\/[\w-]+: .*$/.test(message), message);
  });
});

/** Pins of a version that no registry has, in a folder of their own. */
async function unknownPins() {
  const path = await Deno.makeTempDir();
  const real = new URL("../../lib/engine/llama/pins/", import.meta.url);
  for await (const { name, isFile } of Deno.readDir(real)) {
    if (!isFile) continue;
    const text = await Deno.readTextFile(new URL(name, real));
    await Deno.writeTextFile(`${path}/${name}`, text.replaceAll("3.21.1", "0.0.0-unknown"));
  }
  return {
    url: new URL(`file://${path}/`),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

Deno.test("a process that has closed the engine ends by itself", { ignore }, async () => {
  await using file = await temporary(tinyGguf());
  const [engine, harness] = ["../../lib/engine/llama/load.ts", "./llama/harness.ts"].map((path) =>
    new URL(path, import.meta.url).href
  );
  const code = `
    const { loadLlama } = await import(${JSON.stringify(engine)});
    const { all, countOf, OPTIONS, request, Seen } = await import(${JSON.stringify(harness)});
    const engine = await loadLlama({ ...OPTIONS, model: ${JSON.stringify(file.path)}, threads: 1 });
    console.log(countOf(await all(engine.generate(request("hello", 10), new AbortController().signal, new Seen()))));
    await engine.close();`;
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--config", config, code],
    stderr: "inherit",
    signal: AbortSignal.timeout(30_000),
  });
  const { code: exit, stdout } = await command.output();
  assertEquals([exit, new TextDecoder().decode(stdout).trim()], [0, "10"]);
});
