import { requestBytes } from "../../http/head.ts";
import { ConfigError } from "../../config.ts";
import { quote } from "../../errors.ts";
import type { ChatMessage, EngineRequest } from "../engine.ts";

/** Where requests go and as whom. */
export interface Upstream {
  /** The base with its version, e.g. `http://127.0.0.1:8000/v1`; no slash at the end. */
  url: string;
  /** The model to ask for; where empty, the one the client named, and none if it named none. */
  model: string;
  /** Sent as `Authorization: Bearer`; nothing of the client's own is passed on. */
  apiKey?: string | undefined;
}

/** The base of all requests. Throws `ConfigError` for what is none, and for a key in it: that would be logged. */
export function baseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new ConfigError(`--upstream-url: wanted a URL like http://127.0.0.1:8000/v1, got ${quote(text)}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ConfigError("--upstream-url: wanted no user or password in it; see --upstream-api-key-file.");
  }
  return url.href.replace(/\/+$/, "");
}

/** A request as it is sent. */
export interface UpstreamRequest {
  bytes: Uint8Array;
  /** The model it asks for is that of the settings, not the client's. */
  ourModel: boolean;
}

/**
 * The request for a generation. Every header is ours: none of the client's is copied, so neither its key nor its
 * cookies can get out. Always streamed, also for a reply that is not, since only a stream can be left early at no cost.
 */
export function upstreamRequest(request: EngineRequest, upstream: Upstream): UpstreamRequest {
  const headers = ourHeaders(upstream, "text/event-stream");
  headers.set("content-type", "application/json");
  const url = new URL(`${upstream.url}/${request.continuation ? "" : "chat/"}completions`);
  const bytes = requestBytes("POST", url, headers, JSON.stringify(bodyOf(request, upstream)));
  return { bytes, ourModel: upstream.model !== "" };
}

/** The headers of every request. */
export function ourHeaders({ apiKey }: Upstream, accept: string): Headers {
  const headers = new Headers({
    "accept": accept,
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "tokentap",
  });
  if (apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`);
  return headers;
}

function bodyOf(request: EngineRequest, { model }: Upstream): Record<string, unknown> {
  // JSON leaves out what is undefined: what the client did not set is the upstream's to decide.
  return {
    // First, so that none of them can stand for what we say.
    ...request.extras,
    model: model || request.model,
    ...request.continuation
      ? { prompt: request.prompt }
      : { messages: request.messages?.map(written) ?? [{ role: "user", content: request.prompt }] },
    [request.completionLimit ? "max_completion_tokens" : "max_tokens"]: request.openEnded
      ? undefined
      : request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    min_p: request.minP,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    repetition_penalty: request.repetitionPenalty,
    stop: request.stop?.length ? request.stop : undefined,
    seed: request.seed,
    min_tokens: request.minTokens,
    ignore_eos: request.ignoreEos,
    stream: true,
    // The second only for who asks: not every server knows it.
    stream_options: { include_usage: true, continuous_usage_stats: request.continuousUsage || undefined },
  };
}

function written({ role, content, asCame }: ChatMessage): unknown {
  return asCame ?? { role, content };
}
