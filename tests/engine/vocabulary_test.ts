import { assert, assertEquals, assertLess, assertNotEquals } from "@std/assert";
import { countPieces, generate, promptSeed, tokenAt } from "../../lib/engine/vocabulary.ts";

const PROMPTS = ["hello", "", "안녕 🙂", "a".repeat(10_000), "\r\n\0"];

Deno.test("the first m of n tokens are the m tokens", () => {
  for (const prompt of PROMPTS) {
    const whole = generate(prompt, 300);
    for (const m of [0, 1, 2, 17, 299, 300]) assertEquals(generate(prompt, m), whole.slice(0, m));
  }
});

Deno.test("the tokens of a prompt are the same in every version", () => {
  const hello = [
    ..."exact| exact| reader| server| simple| 音楽| model| café| λόγος| 아침| as|은".split("|"),
  ];
  assertEquals(generate("hello", 12), hello);
  assertEquals(generate("안녕 🙂", 5), ["header", " one", ".", " of", " simple"]);
  assertEquals(generate("hello", 4, 1), ["in", " window", " queue", "…"]);
});

Deno.test("another process makes the same tokens", async () => {
  const prompt = "안녕 🙂";
  const script = new URL("../../bench/measure/print_tokens.ts", import.meta.url);
  const args = ["run", script.href, prompt, "200"];
  const { stdout, success } = await new Deno.Command(Deno.execPath(), { args, stderr: "inherit" }).output();
  assert(success);
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  assertEquals(lines.map((line) => JSON.parse(line)), generate(prompt, 200));
});

Deno.test("a token hears nothing but the seed and its index", () => {
  const seed = promptSeed("hello");
  const backwards = Array.from({ length: 50 }, (_, i) => tokenAt(seed, 49 - i)).reverse();
  assertEquals(backwards, generate("hello", 50));
});

Deno.test("another prompt or seed gives other tokens; seed 0 leaves the prompt alone to decide", () => {
  const hello = generate("hello", 20);
  assertNotEquals(generate("hello ", 20), hello);
  assertNotEquals(generate("hello", 20, 1), hello);
  assertNotEquals(generate("hello", 20, 2), generate("hello", 20, 1));
  assertEquals(generate("hello", 20, 0), hello);
});

Deno.test("tokens read like words: a leading space where a word begins, none on the first nor on an ending", () => {
  for (const prompt of PROMPTS) {
    const tokens = generate(prompt, 600);
    assertEquals(tokens[0].startsWith(" "), false);
    const spaced = tokens.slice(1).filter((token) => token.startsWith(" ")).length;
    // Five of six begin a word.
    assert(spaced > 450 && spaced < 550, `${spaced} of 599`);
    for (const token of tokens) assert(/^ ?[^ ]+$/.test(token), JSON.stringify(token));
  }
});

Deno.test("a long answer holds tokens of several bytes, a surrogate pair, a joined emoji and a line break", () => {
  const text = generate("hello", 3000).join("");
  for (const piece of ["é", "안녕", "東京", "🙂", "👩‍🚀", "مرحبا", "\n"]) assert(text.includes(piece), piece);
});

const counted: [text: string, pieces: number][] = [
  ["", 0],
  ["hello", 1],
  ["hello world", 2],
  ["abcdef", 1],
  ["abcdefg", 2],
  ["  a", 2],
  ["a\n\nb", 4],
  ["안녕하세요", 3],
  ["🙂🙂", 2],
  ["café!", 2],
  ["안a녕", 3],
];
for (const [text, pieces] of counted) {
  Deno.test(`${JSON.stringify(text)} is ${pieces} pieces`, () => assertEquals(countPieces(text), pieces));
}

Deno.test("counting the pieces of a hostile text takes time in proportion to its length, whatever it is made of", () => {
  const fills = [" ", "a", "\n", "\0", "\ud800", "🙂", "\u0301", " a", "a ", "안 "];
  for (const fill of fills) {
    const short = fill.repeat(1024 / fill.length);
    const long = fill.repeat(1_048_576 / fill.length);
    const from = performance.now();
    const pieces = countPieces(long);
    // A count that is quadratic would take minutes here; a linear one takes some 10 ms.
    assertLess(performance.now() - from, 1000, JSON.stringify(fill));
    assertLess(Math.abs(pieces - 1024 * countPieces(short)), 1025, JSON.stringify(fill));
  }
});
