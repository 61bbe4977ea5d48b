import { asText, isCount, isObject } from "../json.ts";
import { finishReasonOf, readEvent, reasoningOf, textOf, ToldError } from "../openai_event.ts";

/** Token usage as the server reported it; other fields are kept as sent. */
export interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  [key: string]: unknown;
}

/** What went wrong, in a form for programs (`code`) and for people (`message`). */
export interface StreamError {
  code: string;
  message: string;
}

/** What one choice of one event carries. */
export interface Choice {
  index: number;
  text: string;
  reasoning: string;
  finishReason?: string;
}

/** What one event says. */
export type Payload =
  | { kind: "end" }
  | { kind: "error"; error: StreamError }
  /** `tokens` is the number the server itself stated for this event; absent when it stated none. */
  | { kind: "token"; text: string; tokens?: number }
  | { kind: "choices"; choices: Choice[]; usage?: Usage }
  /** Valid, but nothing this client knows: ignored, as servers add events of their own. */
  | { kind: "other" };

/**
 * Reads one event: the plain form `{"token":"…"}`, OpenAI chat chunks, OpenAI completions, errors of each, `[DONE]`.
 *
 * It runs once per token, so the fields are checked by hand: a schema library costs several times the JSON parser.
 */
export function parsePayload(event: string | undefined, data: string): Payload {
  const json = readEvent(event, data);
  if (json === "end") return { kind: "end" };
  if (json === "ping") return { kind: "other" };
  if (json === "malformed") return malformed(data);
  if (json instanceof ToldError) return { kind: "error", error: toError(json.error) };
  if (typeof json.token === "string") {
    const tokens = isCount(json.tokens) ? json.tokens : undefined;
    return { kind: "token", text: json.token, tokens };
  }
  const usage = isObject(json.usage) ? json.usage as Usage : undefined;
  if (Array.isArray(json.choices)) return { kind: "choices", choices: json.choices.map(toChoice), usage };
  return usage ? { kind: "choices", choices: [], usage } : { kind: "other" };
}

/** Reads the error of an error response or event: an object with code, type and message, or a bare message. */
export function toError(value: unknown): StreamError {
  if (!isObject(value)) {
    return { code: "error", message: typeof value === "string" ? value : JSON.stringify(value) };
  }
  const code = value.code ?? value.type ?? "error";
  return {
    code: String(code),
    message: typeof value.message === "string" ? value.message : "no message given",
  };
}

function toChoice(value: unknown): Choice {
  const choice = isObject(value) ? value : {};
  const delta = isObject(choice.delta) ? choice.delta : undefined;
  return {
    index: isCount(choice.index) ? choice.index : 0,
    text: delta ? textOf(delta) : asText(choice.text),
    reasoning: delta ? reasoningOf(delta) : "",
    finishReason: finishReasonOf(choice.finish_reason),
  };
}

function malformed(data: string): Payload {
  const shown = data.length > 80 ? data.slice(0, 80) + "…" : data;
  return {
    kind: "error",
    error: { code: "malformed", message: `wanted a JSON object as data, got: ${shown}` },
  };
}
