import type { z } from "zod";
import { dial } from "../../lib/engine/upstream/dial.ts";
import type { Settings } from "../../lib/config.ts";
import type { UpstreamLimits } from "../../lib/engine/upstream/deadlines.ts";
import { UpstreamEngine } from "../../lib/engine/upstream.ts";
import { Pacer } from "../../lib/engine/pacer.ts";
import { rawServer, type Script, SSE_HEAD } from "./raw_server.ts";
import { type Service, startService } from "./service.ts";

type Json = Record<string, unknown>;

/** An event of the upstream's stream. */
export function event(json: unknown): string {
  return `data: ${typeof json === "string" ? json : JSON.stringify(json)}\n\n`;
}

/** A chunk of a completion. */
export function said(text: string, finish_reason: string | null = null): string {
  return event({ object: "text_completion", choices: [{ index: 0, text, finish_reason }] });
}

/** A chunk of a chat stream; `more` stands beside its choices. */
export function delta(content: Json | string, more: Json = {}): string {
  const fields = typeof content === "string" ? { content } : content;
  return event({ object: "chat.completion.chunk", choices: [{ index: 0, delta: fields }], ...more });
}

export function finish(reason = "stop"): string {
  return event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
}

export function usage(prompt_tokens: number, completion_tokens: number): string {
  return event({ choices: [], usage: { prompt_tokens, completion_tokens } });
}

export const ROLE = delta({ role: "assistant", content: "" });
export const DONE = event("[DONE]");
export const PING = ": ping\n\n";

/** A stream that begins and then says these pieces. */
export function stream(steps: Script["steps"], end: Script["end"] = "fin"): Script {
  return { steps: [SSE_HEAD, ...steps], end };
}

/** A response that is no stream. */
export function response(status: string, headers: string, body = ""): Script {
  return { steps: [`HTTP/1.1 ${status}\r\n${headers}Connection: close\r\n\r\n${body}`], end: "fin" };
}

export interface UpstreamOptions {
  limits?: Partial<UpstreamLimits>;
  apiKey?: string;
  /** The model all requests go to; "" where clients choose. */
  model?: string;
  settings?: z.input<typeof Settings>;
}

/** The service over the upstream at `url`. */
export function startOver(
  url: string,
  { limits, apiKey, model = "m", settings }: UpstreamOptions = {},
): Service {
  const engine = new UpstreamEngine(
    { url: `${url}/v1`, model, apiKey },
    { connectMs: 2000, idleMs: 10_000, totalMs: 20_000, ...limits },
    new Pacer(),
    dial(url),
  );
  return startService({ engine, settings });
}

/** The service over an upstream that answers each request with `script`. Close it with `await using`. */
export async function overUpstream(script: Script | ((head: string) => Script), options?: UpstreamOptions) {
  const upstream = await rawServer(script);
  const service = startOver(upstream.url, options);
  return {
    upstream,
    service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}
