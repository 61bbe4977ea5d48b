import type { Engine, EngineRequest, ListedModel, Watch } from "./engine.ts";
import type { Clock } from "./pacer.ts";
import type { UpstreamLimits } from "./upstream/deadlines.ts";
import type { Connect } from "./upstream/exchange.ts";
import { listModels } from "./upstream/models.ts";
import { type Upstream, upstreamRequest } from "./upstream/request.ts";
import { UpstreamTokens } from "./upstream/tokens.ts";
import { countPieces } from "./vocabulary.ts";

/** An OpenAI-compatible server (vLLM, llama.cpp, Ollama, a hosted service) as an engine. */
export class UpstreamEngine implements Engine {
  readonly name = "upstream";
  readonly remote = true;
  /** Absent where all requests go to one model, whatever the client says. */
  readonly models?: (signal: AbortSignal) => Promise<ListedModel[]>;
  readonly #upstream: Upstream;
  readonly #limits: UpstreamLimits;
  readonly #clock: Clock;
  readonly #connect: Connect;

  constructor(upstream: Upstream, limits: UpstreamLimits, clock: Clock, connect: Connect) {
    this.#upstream = upstream;
    this.#limits = limits;
    this.#clock = clock;
    this.#connect = connect;
    if (upstream.model === "") {
      this.models = (signal) => listModels(connect, upstream, limits, clock, signal);
    }
  }

  /** An estimate, for the check of the prompt's length: only the upstream knows. Its own count is what is recorded. */
  countTokens(text: string): number {
    return countPieces(text);
  }

  /**
   * Every refusal comes later, through the tokens' `started` and `poll`: as a `TapError` with the status that fits
   * (see refusal.ts). Nothing is tried twice: a request that was sent may be generating already.
   */
  generate(request: EngineRequest, signal: AbortSignal, watch: Watch): UpstreamTokens {
    const asked = upstreamRequest(request, this.#upstream);
    return new UpstreamTokens(this.#connect, asked, this.#clock, this.#limits, signal, watch);
  }
}
