import { Pacer, type Task } from "../lib/engine/pacer.ts";
import { readSettings } from "../lib/read_settings.ts";
import { SimulatedEngine } from "../lib/engine/simulated.ts";
import { generate } from "../lib/engine/vocabulary.ts";
import { streamBody } from "../lib/stream/body.ts";
import { Ledger } from "../lib/stream/ledger.ts";
import { plainFormat } from "../lib/stream/plain.ts";
import { Turn } from "../lib/stream/turn.ts";

/** Tokens of one iteration: divide an iteration's time by it for the cost of a token. */
const TOKENS = 1000;

const settings = readSettings([], {});
const clock = new Pacer();
const engine = new SimulatedEngine(settings, clock);
const ledger = new Ledger({ clock });
const turn = new Turn();
const nobody = { wake: () => {} };

function begin() {
  const generation = ledger.open({
    id: "bench",
    route: "/stream",
    streamed: true,
    model: "bench",
    requested: TOKENS,
    promptTokens: 1,
  });
  const request = {
    id: "bench",
    key: "",
    prompt: "bench",
    maxTokens: TOKENS,
    promptTokens: 1,
    ttftMs: 0,
    itlMs: 0,
  };
  return generation.start(engine, request);
}

Deno.bench(`generate, ${TOKENS} tokens`, () => {
  generate("bench", TOKENS);
});

Deno.bench(`a generation polled, ${TOKENS} tokens`, () => {
  const generation = begin();
  const now = clock.now();
  while (generation.poll(nobody, now));
});

Deno.bench(`a generation as a body, ${TOKENS} tokens`, async () => {
  const body = streamBody(begin(), plainFormat, { clock, turn, settings });
  for await (const _ of body);
});

Deno.bench(`the pacer, ${TOKENS} waits set and taken back`, () => {
  const now = clock.now() + 60_000;
  const tasks: Task[] = Array.from({ length: TOKENS }, () => ({ fire() {} }));
  tasks.forEach((task, i) => clock.at(now + i % 20, task));
  for (const task of tasks) clock.cancel(task);
});
