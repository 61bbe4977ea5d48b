import { assertEquals } from "@std/assert";
import { Transcript } from "../../lib/client/transcript.ts";

/** Feeds the payloads as events at 0, 1, 2, … */
function read(...payloads: unknown[]) {
  const transcript = new Transcript();
  payloads.forEach((payload, at) =>
    transcript.take({ data: typeof payload === "string" ? payload : JSON.stringify(payload), at })
  );
  return transcript;
}
const counts = (transcript: Transcript) => transcript.arrivals().map((arrival) => arrival.tokens);
const chat = (content: string, more = {}) => ({ choices: [{ index: 0, delta: { content } }], ...more });
const usage = (completion_tokens: number) => ({ usage: { completion_tokens } });

Deno.test("C6: a total that only the end states is spread over the events", () => {
  const events = Array.from({ length: 10 }, () => chat("abcd"));
  assertEquals(counts(read(...events, { choices: [], ...usage(40) })), Array(10).fill(4));
  assertEquals(counts(read(...events, { choices: [], ...usage(10) })), Array(10).fill(1));
  assertEquals(
    counts(read(...events, { choices: [], ...usage(3) })),
    Array(10).fill(1),
    "never fewer than came",
  );
});

Deno.test("running usage gives each event the tokens since the last event with text", () => {
  const transcript = read(
    chat("", usage(0)),
    chat("a", usage(20)),
    chat("b", usage(21)),
    chat("", usage(23)),
    chat("c", usage(24)),
    { choices: [], ...usage(24) },
  );
  assertEquals(counts(transcript), [20, 1, 3]);
  assertEquals(transcript.text, "abc");
  transcript.take({ data: JSON.stringify({ choices: [], ...usage(30) }), at: 9 });
  assertEquals(counts(transcript), [20, 1, 3], "tokens that never showed belong to no event");
});

Deno.test("a total on the last event with text, or on some of them, counts no token twice", () => {
  const texts = (with_: (i: number) => number | undefined) =>
    read(...Array.from({ length: 10 }, (_, i) => {
      const count = with_(i);
      return chat("abcd", count === undefined ? {} : usage(count));
    }));
  const last = (count: number) => texts((i) => i === 9 ? count : undefined);
  assertEquals(counts(last(10)), Array(10).fill(1));
  assertEquals(counts(last(40)), Array(10).fill(4));
  assertEquals(counts(texts((i) => i % 2 === 1 ? i + 1 : undefined)), Array(10).fill(1));
  assertEquals(counts(texts((i) => i % 2 === 0 ? i + 1 : undefined)), Array(10).fill(1));
  assertEquals(counts(texts((i) => 2 * (i + 1))), Array(10).fill(2));
});

Deno.test("running usage of several choices is each one's own", () => {
  const events = [0, 1, 2, 0, 1, 2, 1].map((index, i) => ({
    choices: [{ index, delta: { content: "a" } }],
    ...usage([1, 1, 1, 2, 2, 2, 5][i]),
  }));
  assertEquals(counts(read(...events)), [1, 1, 1, 1, 1, 1, 3]);
});

Deno.test("U5: usage of zeros states nothing, and the last usage counts", () => {
  const transcript = read({ choices: [], ...usage(0) }, chat("a", usage(0)), chat("b", usage(0)), {
    choices: [],
    usage: { completion_tokens: 10, prompt_tokens: 3 },
  });
  assertEquals(counts(transcript), [5, 5]);
  assertEquals(transcript.usage, { completion_tokens: 10, prompt_tokens: 3 });
});

Deno.test("numbers stated by the events themselves are not spread over", () => {
  const transcript = read({ token: "abcd", tokens: 4 }, { token: "e" }, { ...usage(40) });
  assertEquals(counts(transcript), [4, 1]);
});

Deno.test("role, finish and usage chunks are no tokens", () => {
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: "length" }] };
  const transcript = read(chat(""), chat("a"), finish, { choices: [], ...usage(1) }, "[DONE]");
  assertEquals(counts(transcript), [1]);
  assertEquals([transcript.finishReason, transcript.finished, transcript.ended], ["length", true, true]);
});

Deno.test("a reasoning delta is a token of its own, kept apart from the text", () => {
  const reasoning = (reasoning_content: string) => ({
    choices: [{ index: 0, delta: { reasoning_content } }],
  });
  const transcript = read(reasoning("so"), reasoning(" then"), chat("yes"));
  assertEquals([transcript.reasoning, transcript.text, counts(transcript)], ["so then", "yes", [1, 1, 1]]);
  assertEquals(transcript.arrivals()[0].length, 2);
});

Deno.test("of several choices all tokens count, the first is the text, and the last to finish ends", () => {
  const of = (index: number, content: string, finish_reason?: string) => ({
    choices: [{ index, delta: { content }, finish_reason }],
  });
  const transcript = read(of(0, "a"), of(1, "x"), of(0, "b", "stop"));
  assertEquals([transcript.text, transcript.finished], ["ab", false]);
  transcript.take({ data: JSON.stringify(of(1, "", "length")), at: 9 });
  assertEquals([transcript.finished, transcript.finishReason, counts(transcript)], [true, "stop", [1, 1, 1]]);
});

Deno.test("of several choices that were asked for none may be missing at the end, also one that has not begun", () => {
  const of = (index: number, finish_reason?: string) =>
    JSON.stringify({ choices: [{ index, text: "a", finish_reason }] });
  const transcript = new Transcript(2);
  transcript.take({ data: of(0, "stop"), at: 0 });
  assertEquals(transcript.finished, false);
  transcript.take({ data: of(1, "stop"), at: 1 });
  assertEquals(transcript.finished, true);
});

Deno.test("nothing counts after the end or after an error", () => {
  assertEquals(read({ token: "a" }, "[DONE]", { token: "b" }, { error: "late" }).text, "a");
  const failed = read({ token: "a" }, { error: { code: "x", message: "m" } }, { token: "b" }, "[DONE]");
  assertEquals([failed.text, failed.ended, failed.error?.code], ["a", false, "x"]);
});

Deno.test("an event without its blank line is dropped, unless it is [DONE]", () => {
  const transcript = read({ token: "a" });
  assertEquals(transcript.take({ data: '{"token":"b"}', at: 1, unterminated: true }), undefined);
  assertEquals(transcript.take({ data: "[DO", at: 1, unterminated: true }), undefined);
  assertEquals([transcript.text, transcript.error, transcript.ended], ["a", undefined, false]);
  transcript.take({ data: "[DONE]", at: 1, unterminated: true });
  assertEquals(transcript.ended, true);
});
