import type { Engine, EngineRequest, FinishReason, Token, Watch } from "../../lib/engine/engine.ts";
import { stopping } from "../../lib/engine/stop.ts";

/** What came out behind the stage, and what became of the engine before it. */
export interface StopRun {
  tokens: Token[];
  finish: FinishReason | undefined;
  /** Tokens that the engine made. */
  made: number;
  /** The engine's generator has been through its `finally`. */
  released: boolean;
}

/** Runs `tokens` (an error is thrown in its place) through the stage. */
export async function runStopping(
  tokens: (string | Token | Error)[],
  request: Partial<EngineRequest>,
  got: (token: Token) => void = () => {},
): Promise<StopRun> {
  const out: StopRun = { tokens: [], finish: undefined, made: 0, released: false };
  const engine: Engine = {
    name: "scripted",
    countTokens: () => 1,
    async *generate() {
      try {
        for (const token of tokens) {
          if (token instanceof Error) throw token;
          out.made++;
          yield typeof token === "string" ? { text: token, tokens: 1 } : token;
        }
        watch.finished("length");
      } finally {
        // Longer than any chain of promises: only who waits for the end sees it.
        await new Promise((resolve) => setTimeout(resolve, 1));
        out.released = true;
      }
    },
  };
  const watch: Watch = {
    prefill() {},
    produced() {},
    finished: (reason) => out.finish ??= reason,
    usage() {},
    upstreamClosed() {},
  };
  const all: EngineRequest = { id: "1", key: "", prompt: "p", maxTokens: 100, promptTokens: 1, ...request };
  for await (const token of stopping(engine).generate(all, new AbortController().signal, watch)) {
    out.tokens.push(token);
    got(token);
  }
  return out;
}
