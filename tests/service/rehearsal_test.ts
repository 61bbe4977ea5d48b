import { assertEquals, assertLess } from "@std/assert";
import { Pacer } from "../../lib/engine/pacer.ts";
import { createApp } from "../../routes/app.ts";
import type { Deps } from "../../routes/deps.ts";
import { rehearse } from "../../routes/rehearsal.ts";
import { ScriptedEngine } from "../helpers/scripted_engine.ts";
import { startService } from "../helpers/service.ts";

/** One that waits for what does not come fails, and does not hang. */
async function rehearsed(deps: Deps): Promise<string> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the rehearsal does not end")), 10_000);
  });
  return await Promise.race([rehearse(createApp(deps), deps), late]).finally(() => clearTimeout(timer));
}

Deno.test("a rehearsal goes all the way through streams, and the service that rehearsed has done nothing", async () => {
  const engine = new ScriptedEngine(new Pacer());
  await using service = startService({ engine });
  const text = await rehearsed(service.deps);
  const answers = text.split(/HTTP\/1\.1 (?=\d{3} )/).slice(1);
  assertEquals(answers.map((answer) => answer.slice(0, 3)), ["200", "400", "400", "400", "200", "200"]);
  for (const answer of answers.slice(-2)) assertEquals(answer.includes("data: [DONE]\n\n"), true, answer);
  assertEquals([service.ledger.totals().requests.total, service.ledger.latest, engine.all], [
    0,
    undefined,
    [],
  ]);
  assertEquals([service.ended, service.unexpected, service.refused], [[], [], []]);
});

Deno.test("a rehearsal waits for no delay of the settings", async () => {
  await using service = startService({ settings: { timeToFirstToken: 60_000, interTokenLatency: 60_000 } });
  assertEquals((await rehearsed(service.deps)).match(/data: \[DONE\]/g)?.length, 2);
});

Deno.test("a rehearsal takes any limits, gives way between its steps, and ends with the service", async () => {
  await using service = startService({
    settings: { maxModelLen: 2, maxNumSeqs: 1, maxWaitingQueueLength: 0 },
  });
  let turns = 0;
  const turn = setInterval(() => turns++, 1);
  const whole = await rehearsed(service.deps);
  clearInterval(turn);
  assertEquals([whole.match(/data: \[DONE\]/g)?.length, turns >= 5], [2, true]);
  let asked = 0;
  const part = await rehearsed({ ...service.deps, draining: () => ++asked > 2 });
  assertLess(part.match(/HTTP\/1.1 \d/g)?.length ?? 0, 4);
});
