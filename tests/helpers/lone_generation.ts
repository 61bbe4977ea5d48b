import { Generation } from "../../lib/stream/generation.ts";
import { type GenerationObserver, GenerationRecord } from "../../lib/stream/record.ts";
import { EagerReader } from "./eager_reader.ts";
import { ManualClock } from "./manual_clock.ts";
import { REQUEST, ScriptedEngine } from "./scripted_engine.ts";

/** What an observer heard: the outcome at each `ended`, the tokens, what was unexpected. */
class NotedObserver implements GenerationObserver {
  readonly ends: string[] = [];
  tokens = 0;
  readonly errors: unknown[] = [];
  handedOver = 0;
  produced(_record: GenerationRecord, tokens: number) {
    this.tokens += tokens;
  }
  handed(_record: GenerationRecord, tokens: number) {
    this.handedOver += tokens;
  }
  ended(record: GenerationRecord) {
    this.ends.push(record.outcome);
  }
  unexpected(_record: GenerationRecord, error: unknown) {
    this.errors.push(error);
  }
}

/** A generation of a scripted engine, not yet started, and what its observer hears. It arrives at 1000 ms. */
export function loneGeneration({ ignoreDisconnects = false, queues = false } = {}) {
  const clock = new ManualClock(1000);
  const observer = new NotedObserver();
  const engine = new ScriptedEngine(clock);
  engine.queues = queues;
  const record = new GenerationRecord("id", "/stream", "m", 100, 3, clock.now());
  const generation = new Generation(record, clock, observer, ignoreDisconnects);
  const start = () => {
    generation.start(engine, REQUEST);
    return { tokens: engine.tokens, reader: new EagerReader(generation, clock) };
  };
  return { clock, observer, engine, record, generation, start };
}
