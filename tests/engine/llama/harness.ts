import type { EngineRequest, FinishReason, Token, Usage, Watch } from "../../../lib/engine/engine.ts";
import type { LlamaOptions } from "../../../lib/engine/llama.ts";

/** What an engine is given where a test says nothing else: room enough for all tests. */
export const OPTIONS: LlamaOptions = {
  sequences: 4,
  maxQueue: 100,
  contextLength: 8192,
  now: () => performance.now(),
};

/** What an engine reported about one generation. */
export class Seen implements Watch {
  admitted = 0;
  tokens = 0;
  reason: FinishReason | undefined;
  counts: Usage | undefined;
  prefill(): void {
    this.admitted++;
  }
  produced(tokens: number): void {
    this.tokens += tokens;
  }
  finished(reason: FinishReason): void {
    this.reason = reason;
  }
  usage(usage: Usage): void {
    this.counts = usage;
  }
  upstreamClosed(): void {}
}

export function request(prompt: string, maxTokens: number, more: Partial<EngineRequest> = {}): EngineRequest {
  return { id: prompt, key: "", prompt, maxTokens, promptTokens: 0, ...more };
}

/** All tokens of a generation. */
export async function all(tokens: AsyncIterable<Token>): Promise<Token[]> {
  const got: Token[] = [];
  for await (const token of tokens) got.push(token);
  return got;
}

export function textOf(tokens: readonly Token[]): string {
  return tokens.map(({ text }) => text).join("");
}

export function countOf(tokens: readonly Token[]): number {
  return tokens.reduce((sum, { tokens }) => sum + tokens, 0);
}
