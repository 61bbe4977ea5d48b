import type { GenerationRecord } from "./record.ts";

/** Token counts in the form of the OpenAI API. */
export interface OpenAIUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** The usage of one request: its answers share the prompt, which counts once. */
export function openaiUsage(records: readonly GenerationRecord[]): OpenAIUsage {
  const usages = records.map((record) => record.usageNow());
  const [{ prompt_tokens }] = usages;
  const completion_tokens = usages.reduce((sum, usage) => sum + usage.completion_tokens, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
