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

/** An event that tells of a failure; what of it, is the server's own form. */
export class ToldError {
  constructor(readonly error: unknown) {}
}

/**
 * What an event of a stream is: the end, a ping to pass over, data that no server of this kind sends, a failure, or an
 * object that says more.
 *
 * @param name of the event, undefined where it has none
 */
export function readEvent(
  name: string | undefined,
  data: string,
): "end" | "ping" | "malformed" | ToldError | Json {
  if (data === "[DONE]" || data.trim() === "[DONE]") return "end";
  const failed = name === "error";
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    if (failed) return new ToldError(data);
    // A ping has a name of its own, or says nothing.
    return data.trim() === "" || (name !== undefined && name !== "message") ? "ping" : "malformed";
  }
  if (!isObject(json)) return failed ? new ToldError(json) : "malformed";
  if (
    !isEmpty(json.error) || (json.error !== undefined && json.error !== null && !Array.isArray(json.choices))
  ) {
    return new ToldError(json.error);
  }
  if (failed || json.object === "error") return new ToldError(json);
  return name === undefined && isBareDetail(json) ? new ToldError(json.detail) : json;
}

/** FastAPI's form of an error, where nothing else that an event is for stands beside it. */
function isBareDetail({ detail, choices, usage, token }: Json): boolean {
  return !isEmpty(detail) && choices === undefined && usage === undefined && token === undefined;
}

/** Some servers send an empty error beside each good token. */
function isEmpty(error: unknown): boolean {
  if (error === undefined || error === null || error === false || error === "") return true;
  return isObject(error) && Object.keys(error).length === 0;
}
