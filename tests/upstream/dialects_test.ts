import { assertEquals, assertStringIncludes } from "@std/assert";
import { postJson } from "../helpers/post_json.ts";
import type { Script } from "../helpers/raw_server.ts";
import { delta, DONE, event, finish, overUpstream, ROLE, stream } from "../helpers/scripted_upstream.ts";

/** How the generation ended that a chat started over an upstream that writes this, and what its client was given. */
async function through(steps: Script["steps"]) {
  await using over = await overUpstream(stream(steps));
  const { status, json } = await postJson(`${over.service.url}/v1/chat/completions`, {
    messages: [{ role: "user", content: "hello" }],
  });
  assertEquals(over.service.unexpected, []);
  const [{ outcome, error }] = over.service.ended;
  const { message, finish_reason } = json.choices?.[0] ?? {};
  return {
    status,
    outcome,
    error,
    says: json.error?.message,
    text: message?.content,
    thought: message?.reasoning_content,
    finish: finish_reason,
  };
}

const last = (reason: unknown) => event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const unfinished = (text: string, reason: unknown) =>
  event({ choices: [{ index: 0, delta: { content: text }, finish_reason: reason }] });

for (const reason of ["", "null", null, undefined, 0, false]) {
  Deno.test(`a finish_reason of ${JSON.stringify(reason)} is none: longer gaps than the grace follow`, async () => {
    const came = await through([unfinished("a", reason), 700, unfinished(" b", reason), last("stop"), DONE]);
    assertEquals([came.outcome, came.text, came.finish], ["completed", "a b", "stop"]);
    const cut = await through([unfinished("a", reason), unfinished(" b", reason)]);
    assertEquals([cut.status, cut.outcome, cut.error], [502, "failed", "upstream_error"]);
  });
}

const FINISHES: Record<string, string | undefined> = {
  stop: "stop",
  eos: "stop",
  "a word of tomorrow": "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  content_filter: "content_filter",
  sensitive: "content_filter",
  abort: undefined,
  error: undefined,
  cancelled: undefined,
  timeout: undefined,
  network_error: undefined,
  insufficient_system_resource: undefined,
  constructor: "stop",
};
for (const [reason, told] of Object.entries(FINISHES)) {
  Deno.test(`a finish_reason of ${reason} ${told ? `is told as ${told}` : "is a failure"}`, async () => {
    const came = await through([delta("a"), last(reason), DONE]);
    if (told === undefined) {
      assertEquals([came.status, came.outcome, came.error], [502, "failed", "upstream_error"]);
    } else assertEquals([came.outcome, came.text, came.finish], ["completed", "a", told]);
  });
}

const part = (type: string, value: unknown) => ({ type, [type]: value });
const TEXTS: Record<string, { deltas: string[]; text: string; thought?: string }> = {
  "a list of parts": {
    deltas: [delta({ content: [part("text", "he"), part("text", "llo")] }), delta({ content: [] })],
    text: "hello",
  },
  "thoughts among the parts": {
    deltas: [
      delta({ content: [part("thinking", [part("text", "hm")])] }),
      delta({ content: [part("text", "so")] }),
    ],
    text: "so",
    thought: "hm",
  },
  "a refusal": { deltas: [delta({ content: null, refusal: "No way" })], text: "No way" },
  "parts of no known kind": { deltas: [delta({ content: [5, null, { type: "x" }] }), delta("a")], text: "a" },
  "a character in two halves": { deltas: [delta("x\ud83d"), delta("\ude42y")], text: "x🙂y" },
  "a thought with a character in two halves": {
    deltas: [delta({ reasoning_content: "x\ud83d" }), delta({ reasoning: "\ude42y" }), delta("a")],
    text: "a",
    thought: "x🙂y",
  },
  "choices out of order in one event": {
    deltas: [
      event({ choices: [{ index: 1, delta: { content: "b" } }, { index: 0, delta: { content: "a" } }] }),
    ],
    text: "a",
  },
  "an empty error beside each token": {
    deltas: [false, "", {}, null].map((error) => delta("a", { error })),
    text: "aaaa",
  },
  "pings of many kinds between the tokens": {
    deltas: ["event: ping\ndata: ping\n\n", "data:\n\n", "data: \n\n", "event: ping\ndata: {}\n\n"]
      .flatMap((ping) => [ping, delta("a")]),
    text: "aaaa",
  },
  "an answer whole, as a reply has it": {
    deltas: [event({
      choices: [{ index: 0, message: { role: "assistant", content: "A", reasoning_content: "hm" } }],
    })],
    text: "A",
    thought: "hm",
  },
  "details beside good choices, or in an event of another name": {
    deltas: [delta("a", { detail: "none" }), 'event: status\ndata: {"detail":"loading"}\n\n'],
    text: "a",
  },
  "empty lists of calls": {
    deltas: [delta({ content: "a", tool_calls: [], function_call: null })],
    text: "a",
  },
};
for (const [what, { deltas, text, thought }] of Object.entries(TEXTS)) {
  Deno.test(`what is said comes through whole: ${what}`, async () => {
    const came = await through([ROLE, ...deltas, finish(), DONE]);
    assertEquals([came.outcome, came.text, came.thought], ["completed", text, thought]);
  });
}

for (const call of [{ tool_calls: [{ index: 0, id: "c" }] }, { function_call: { name: "f" } }]) {
  Deno.test(`a call that nobody can take is a failure that says so: ${Object.keys(call)}`, async () => {
    const came = await through([ROLE, delta(call), finish("tool_calls"), DONE]);
    assertEquals([came.status, came.says], [
      502,
      "The upstream server called a tool, which is not supported here.",
    ]);
  });
}

for (const end of ["data: [DONE]", "data: [DONE]\n", "data:[DONE]\r\n"]) {
  Deno.test(`an end that forgets its blank line is an end: ${JSON.stringify(end)}`, async () => {
    const came = await through([ROLE, delta("a"), end]);
    assertEquals([came.outcome, came.text], ["completed", "a"]);
  });
}

Deno.test("half an event at the body's end counts for nothing, even if it looks whole", async () => {
  const came = await through([delta("a"), finish().trimEnd()]);
  assertEquals([came.status, came.outcome], [502, "failed"]);
});

const failure = { error: { message: "late", code: 500 } };
for (
  const [what, written] of Object.entries({
    "behind the end's reason": last("stop") + event(failure) + DONE,
    "behind it, in an event of that name": last("stop") +
      `event: error\ndata: ${JSON.stringify(failure)}\n\n`,
    "in a line that is no event": `error: ${JSON.stringify(failure.error)}\n\n`,
    "as bare JSON": JSON.stringify(failure) + "\n",
    "beside good choices": delta("b", failure) + DONE,
    "as FastAPI's detail": event({ detail: "late" }) + DONE,
    "as FastAPI's list": event({ detail: [{ loc: ["body"], msg: "late" }] }) + DONE,
  })
) {
  Deno.test(`an error that the upstream tells is told on, and is no success: ${what}`, async () => {
    const came = await through([delta("a"), 20, written]);
    assertEquals([came.status, came.outcome, came.error], [502, "failed", "upstream_error"]);
    assertStringIncludes(came.says, "The upstream server reported an error");
    assertStringIncludes(came.says, "late");
  });
}
