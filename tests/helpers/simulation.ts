import type { EngineRequest } from "../../lib/engine/engine.ts";
import { SimulatedEngine } from "../../lib/engine/simulated.ts";
import type { SimulatedOptions } from "../../lib/engine/simulated_tokens.ts";
import { EagerReader } from "./eager_reader.ts";
import { ManualClock } from "./manual_clock.ts";
import { NotedWatch } from "./noted_watch.ts";

const OPTIONS: SimulatedOptions = {
  seed: 0,
  timeToFirstToken: 200,
  timeToFirstTokenStdDev: 0,
  prefillTimePerToken: 0,
  interTokenLatency: 20,
  interTokenLatencyStdDev: 0,
  timeFactorUnderLoad: 1,
  maxNumSeqs: 4,
  maxWaitingQueueLength: 10,
  realtime: true,
};

/** A simulated engine on a manual clock: 200 ms to the first token, 20 ms between tokens, four slots, unless told else. */
export function simulation(options: Partial<SimulatedOptions> = {}) {
  const clock = new ManualClock();
  const engine = new SimulatedEngine({ ...OPTIONS, ...options }, clock);
  /** Begins a generation of five tokens for "hello", unless told else, that nobody reads yet. */
  const begin = (request: Partial<EngineRequest> = {}) => {
    const watch = new NotedWatch();
    const whole = { id: "id", key: "", prompt: "hello", maxTokens: 5, promptTokens: 1, ...request };
    return { watch, tokens: engine.generate(whole, new AbortController().signal, watch) };
  };
  /** The same, read eagerly. */
  const run = (request: Partial<EngineRequest> = {}) => {
    const { watch, tokens } = begin(request);
    return { watch, tokens, reader: new EagerReader(tokens, clock) };
  };
  return { clock, engine, begin, run };
}
