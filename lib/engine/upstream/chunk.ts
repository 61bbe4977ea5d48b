import { asText, isCount, isObject, type Json } from "../../json.ts";
import type { FinishReason, Usage } from "../engine.ts";
import { connectionError } from "./refusal.ts";

/** What one event of the upstream's stream says. */
export interface Chunk {
  text: string;
  reasoning: string;
  /** It belongs to an answer, so the model is at work; a ping does not. */
  progress: boolean;
  finish: FinishReason | "failed" | undefined;
  usage: Usage | undefined;
}

export type Heard = Chunk | "done" | { error: unknown };

/**
 * Reads one event of a chat or completions stream. Runs once per token, so the few fields are checked by hand: a
 * schema costs several times the JSON parser. Throws a `TapError` for data that is no JSON object.
 */
export function parseChunk(event: string | undefined, data: string): Heard {
  if (data === "[DONE]" || data.trim() === "[DONE]") return "done";
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch (error) {
    if (event === "error") return { error: data };
    throw connectionError("sent an event that is no JSON", error);
  }
  if (!isObject(json)) {
    if (event === "error") return { error: json };
    throw connectionError("sent an event that is no JSON object");
  }
  if (json.error !== undefined && json.error !== null) return { error: json.error };
  if (event === "error" || json.object === "error") return { error: json };
  const chunk: Chunk = { text: "", reasoning: "", progress: false, finish: undefined, usage: undefined };
  if (isObject(json.usage)) chunk.usage = usageOf(json.usage);
  // We ask for one choice; one more would be mixed into its text.
  const choice = Array.isArray(json.choices) ? json.choices[0] : undefined;
  if (!isObject(choice) || (choice.index !== undefined && choice.index !== 0)) return chunk;
  chunk.progress = true;
  const delta = choice.delta;
  if (isObject(delta)) {
    chunk.text = asText(delta.content);
    // Two names for one thing: DeepSeek and llama.cpp use the first, vLLM and OpenRouter the second; some send both.
    chunk.reasoning = asText(delta.reasoning_content) || asText(delta.reasoning);
  } else {
    chunk.text = asText(choice.text);
  }
  if (typeof choice.finish_reason === "string") chunk.finish = finishOf(choice.finish_reason);
  return chunk;
}

function finishOf(reason: string): Chunk["finish"] {
  // vLLM ends a request it gave up with "abort", OpenRouter one that failed with "error".
  if (reason === "abort" || reason === "error") return "failed";
  return reason === "length" || reason === "content_filter" ? reason : "stop";
}

function usageOf({ prompt_tokens, completion_tokens }: Json): Usage | undefined {
  if (!isCount(prompt_tokens) && !isCount(completion_tokens)) return undefined;
  return {
    prompt_tokens: isCount(prompt_tokens) ? prompt_tokens : 0,
    completion_tokens: isCount(completion_tokens) ? completion_tokens : 0,
  };
}
