import { assertEquals } from "@std/assert";
import { parsePayload } from "../../lib/client/payload.ts";

const parse = (data: unknown, event?: string) =>
  parsePayload(event, typeof data === "string" ? data : JSON.stringify(data));

const choice = (more: Record<string, unknown>) => ({
  index: 0,
  text: "",
  reasoning: "",
  finishReason: undefined,
  ...more,
});

Deno.test("the plain form is a token, with its number when the server states it", () => {
  assertEquals(parse({ token: " a" }), { kind: "token", text: " a", tokens: undefined });
  assertEquals(parse({ token: "ab c", tokens: 3 }), { kind: "token", text: "ab c", tokens: 3 });
  for (const tokens of [-1, 1.5, "3", null]) {
    assertEquals(parse({ token: "a", tokens }), { kind: "token", text: "a", tokens: undefined });
  }
});

Deno.test("OpenAI chat and completions chunks give text, reasoning, finish reason and usage", () => {
  assertEquals(
    parse({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] }),
    {
      kind: "choices",
      choices: [choice({})],
      usage: undefined,
    },
  );
  assertEquals(parse({ choices: [{ index: 1, delta: { content: "x" } }], usage: null }), {
    kind: "choices",
    choices: [choice({ index: 1, text: "x" })],
    usage: undefined,
  });
  for (
    const delta of [{ reasoning_content: "r" }, { reasoning: "r" }, {
      reasoning_content: "r",
      reasoning: "r",
    }]
  ) {
    assertEquals(parse({ choices: [{ delta }] }), {
      kind: "choices",
      choices: [choice({ reasoning: "r" })],
      usage: undefined,
    });
  }
  assertEquals(
    parse({ choices: [{ index: 0, text: "t", finish_reason: "length" }], usage: { completion_tokens: 4 } }),
    {
      kind: "choices",
      choices: [choice({ text: "t", finishReason: "length" })],
      usage: { completion_tokens: 4 },
    },
  );
  assertEquals(parse({ choices: [], usage: { completion_tokens: 4 } }), {
    kind: "choices",
    choices: [],
    usage: { completion_tokens: 4 },
  });
});

Deno.test("[DONE] is the end; a token that reads [DONE] is not", () => {
  assertEquals(parse("[DONE]"), { kind: "end" });
  assertEquals(parse(" [DONE] "), { kind: "end" });
  assertEquals(parse({ token: "[DONE]" }), { kind: "token", text: "[DONE]", tokens: undefined });
});

Deno.test("errors keep code and message in every form in which servers send them", () => {
  const error = { kind: "error" as const, error: { code: "context_length", message: "too long" } };
  const body = { code: "context_length", message: "too long" };
  assertEquals(parse(body, "error"), error);
  assertEquals(parse({ error: body }, "error"), error);
  assertEquals(parse({ error: body }), error);
  assertEquals(parse({ error: { type: "context_length", code: null, message: "too long" } }), error);
  assertEquals(parse({ object: "error", ...body }), error);
  assertEquals(parse({ error: { code: 400, message: "m" } }), {
    kind: "error",
    error: { code: "400", message: "m" },
  });
  assertEquals(parse({ error: "m" }), { kind: "error", error: { code: "error", message: "m" } });
  assertEquals(parse("plain words", "error"), {
    kind: "error",
    error: { code: "error", message: "plain words" },
  });
  assertEquals(parse({ token: "x", message: "m" }, "error"), {
    kind: "error",
    error: { code: "error", message: "m" },
  });
});

Deno.test("data that is no JSON object is malformed, and shown only in part", () => {
  for (const data of ['{"token":', "5", "null", "[1]", '"x"', "x".repeat(1000)]) {
    const payload = parse(data);
    assertEquals(payload.kind === "error" && payload.error.code, "malformed", data.slice(0, 20));
    assertEquals(payload.kind === "error" && payload.error.message.length < 140, true);
  }
});

Deno.test("an object of another kind is passed over, and odd fields do no harm", () => {
  assertEquals(parse({ type: "ping" }), { kind: "other" });
  assertEquals(parse({ token: 5 }), { kind: "other" });
  assertEquals(parse({ error: null, token: "a" }), { kind: "token", text: "a", tokens: undefined });
  assertEquals(parse({ choices: [null, 5, { delta: null, text: 7 }] }), {
    kind: "choices",
    choices: [choice({}), choice({}), choice({})],
    usage: undefined,
  });
});

Deno.test("an answer has not ended while its finish_reason is empty, and a ping says nothing", () => {
  for (const finish_reason of ["", "null", null, 0]) {
    const payload = parse({ choices: [{ index: 0, delta: { content: "a" }, finish_reason }] });
    assertEquals(payload.kind === "choices" && payload.choices[0].finishReason, undefined);
  }
  for (
    const [data, event] of [["", undefined], [" ", undefined], ["ping", "ping"], ["", "message"]] as const
  ) {
    assertEquals(parse(data, event), { kind: "other" });
  }
  assertEquals(parse("ping", "message").kind, "error");
  assertEquals(parse({ error: {}, choices: [] }).kind, "choices");
  assertEquals(parse({ error: {} }).kind, "error");
});

Deno.test("text in parts is text, and so is a refusal", () => {
  const said = (delta: unknown) => {
    const payload = parse({ choices: [{ delta }] });
    return payload.kind === "choices" && [payload.choices[0].text, payload.choices[0].reasoning];
  };
  assertEquals(said({ content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }), ["ab", ""]);
  assertEquals(said({ content: [{ type: "thinking", thinking: [{ type: "text", text: "c" }] }] }), ["", "c"]);
  assertEquals(said({ content: null, refusal: "no" }), ["no", ""]);
});
