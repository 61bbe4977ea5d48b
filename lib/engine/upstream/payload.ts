import { asText, isCount, isObject, type Json } from "../../json.ts";
import { finishReasonOf, readEvent, reasoningOf, textOf, ToldError } from "../../openai_event.ts";
import type { FinishReason, Usage } from "../engine.ts";
import { connectionError } from "./failures.ts";

/** What one event of the upstream's stream says. */
export interface Payload {
  text: string;
  reasoning: string;
  /** It belongs to an answer, so the model is at work; a ping does not. */
  progress: boolean;
  finish: FinishReason | "failed" | undefined;
  usage: Usage | undefined;
}

export type Heard = Payload | "done" | ToldError;

const NOTHING: Payload = { text: "", reasoning: "", progress: false, finish: undefined, usage: undefined };

/**
 * Reads one event of a chat or completions stream. Throws a `TapError` for data that is no JSON object, and for an
 * answer that cannot be handed on.
 */
export function parsePayload(event: string | undefined, data: string): Heard {
  const json = readEvent(event, data);
  if (json === "end") return "done";
  if (json === "ping") return NOTHING;
  if (json === "malformed") throw connectionError("sent an event that is no JSON object");
  if (json instanceof ToldError) return json;
  const payload = { ...NOTHING };
  if (isObject(json.usage)) payload.usage = usageOf(json.usage);
  // We ask for one choice; one more would be mixed into its text.
  const choice = Array.isArray(json.choices) ? json.choices.find(isFirst) : undefined;
  if (choice === undefined) return payload;
  payload.progress = true;
  // A server that does not stream sends its whole answer as one event, in the form of a reply.
  const delta = isObject(choice.delta) ? choice.delta : choice.message;
  if (isObject(delta)) {
    payload.text = textOf(delta);
    payload.reasoning = reasoningOf(delta);
    if (isCall(delta.tool_calls) || isCall(delta.function_call)) {
      throw connectionError("called a tool, which is not supported here");
    }
  } else {
    payload.text = asText(choice.text);
  }
  const reason = finishReasonOf(choice.finish_reason);
  if (reason !== undefined) payload.finish = FINISHES.get(reason) ?? "stop";
  return payload;
}

function isFirst(choice: unknown): choice is Json {
  return isObject(choice) && (choice.index === undefined || choice.index === 0);
}

function isCall(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : isObject(value);
}

/**
 * What a finish_reason means where it is not the model's own end. A generation that was given up must not pass for a
 * whole answer.
 */
const FINISHES: ReadonlyMap<string, Payload["finish"]> = new Map([
  ["length", "length"],
  ["max_tokens", "length"],
  // Mistral, GLM: the model's own limit.
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["content_filter", "content_filter"],
  // GLM
  ["sensitive", "content_filter"],
  ["network_error", "failed"],
  // vLLM, OpenRouter, DeepSeek, TensorRT-LLM
  ["abort", "failed"],
  ["error", "failed"],
  ["insufficient_system_resource", "failed"],
  ["cancelled", "failed"],
  ["timeout", "failed"],
]);

function usageOf({ prompt_tokens, completion_tokens }: Json): Usage | undefined {
  if (!isCount(prompt_tokens) && !isCount(completion_tokens)) return undefined;
  return {
    prompt_tokens: isCount(prompt_tokens) ? prompt_tokens : 0,
    completion_tokens: isCount(completion_tokens) ? completion_tokens : 0,
  };
}
