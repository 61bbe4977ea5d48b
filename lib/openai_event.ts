import { asText, isObject, type Json } from "./json.ts";

/**
 * What servers of the OpenAI API write into the events of their streams, each in its own way. Read once per token, by
 * the engine over such a server and by the client that measures one: by hand, since a schema library costs several
 * times the JSON parser.
 */

/** Text that a delta adds to the answer. A refusal is what the model says too, and must not be lost as an empty answer. */
export function textOf({ content, refusal }: Json): string {
  if (typeof content === "string" && content !== "") return content;
  return (Array.isArray(content) ? joinedParts(content, "text") : "") || asText(refusal);
}

/**
 * Text that a delta adds to what the model thinks. Two names for one thing: DeepSeek and llama.cpp use the first, vLLM
 * and OpenRouter the second; some send both. Mistral puts it among the parts of the content.
 */
export function reasoningOf({ content, reasoning_content, reasoning }: Json): string {
  return asText(reasoning_content) || asText(reasoning) ||
    (Array.isArray(content) ? joinedParts(content, "thinking") : "");
}

function joinedParts(parts: readonly unknown[], kind: "text" | "thinking"): string {
  let text = "";
  for (const part of parts) {
    if (!isObject(part) || part.type !== kind) continue;
    const inside = part[kind];
    text += Array.isArray(inside) ? joinedParts(inside, "text") : asText(inside);
  }
  return text;
}

/** Why an answer ended, or undefined while it has not: Ollama and SGLang have sent "" until then, KoboldCpp "null". */
export function finishReasonOf(reason: unknown): string | undefined {
  return typeof reason === "string" && reason !== "" && reason !== "null" ? reason : undefined;
}

/** The error that an event tells of, or undefined: some servers send an empty one beside each good token. */
export function errorOf({ error, choices }: Json): unknown {
  if (error === undefined || error === null) return undefined;
  const empty = error === false || error === "" || (isObject(error) && Object.keys(error).length === 0);
  return empty && Array.isArray(choices) ? undefined : error;
}

/** Whether an event whose data is no JSON is one to pass over: a ping, which has a name of its own or says nothing. */
export function isPing(event: string | undefined, data: string): boolean {
  return data.trim() === "" || (event !== undefined && event !== "message" && event !== "error");
}
