import { assertEquals, assertLess } from "@std/assert";
import OpenAI from "openai";
import { rawServer, type Script, SSE_HEAD } from "../helpers/raw_server.ts";
import { spawnService } from "../helpers/spawned_service.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./debug.ts";

const messages = [{ role: "user" as const, content: "hello" }];

const chunk = (delta: unknown) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const tokens = Array.from({ length: 500 }, () => [chunk({ content: " x" }), 20]).flat();
const streaming = (...steps: Script["steps"]): Script => ({ steps: [SSE_HEAD, ...steps], end: "hold" });

/** How the upstream keeps its client waiting, and how long after the request that leaves, in milliseconds. */
const PHASES: Record<string, { script: Script; stream: boolean; leaveAfterMs: number[] }> = {
  "queue, which the upstream keeps to itself": {
    script: { steps: [], end: "hold" },
    stream: true,
    // Our own status goes out after 250 ms.
    leaveAfterMs: [300, 420],
  },
  "before the headers": { script: { steps: [], end: "hold" }, stream: true, leaveAfterMs: [60, 180] },
  "before the first token": {
    script: streaming(chunk({ role: "assistant", content: "" })),
    stream: true,
    leaveAfterMs: [60, 180, 300, 420],
  },
  "mid-stream": { script: streaming(...tokens), stream: true, leaveAfterMs: [60, 180, 300, 420] },
  "not streamed, before the first token": {
    script: streaming(),
    stream: false,
    leaveAfterMs: [60, 180, 300, 420, 1200],
  },
  "not streamed, mid-stream": {
    script: streaming(...tokens),
    stream: false,
    leaveAfterMs: [60, 180, 300, 420, 1200],
  },
};

for (const [phase, { script, stream, leaveAfterMs }] of Object.entries(PHASES)) {
  Deno.test(`openai: who aborts in this phase closes the upstream's socket within 100 ms: ${phase}`, async () => {
    await using upstream = await rawServer(script);
    await using service = await spawnService("--engine", "upstream", "--upstream-url", `${upstream.url}/v1`);
    const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "none", maxRetries: 0 });
    const closedMs: number[] = [];
    for (const [call, ms] of leaveAfterMs.entries()) {
      const leaving = new AbortController();
      const reading = (async () => {
        const answer = await openai.chat.completions.create(
          { model: "m", messages, stream },
          { signal: leaving.signal },
        );
        if (Symbol.asyncIterator in answer) { for await (const _ of answer); }
      })().catch(() => {});
      await until("the upstream's request", () => upstream.requests.length === call + 1, { everyMs: 1 });
      await new Promise((resolve) => setTimeout(resolve, ms));
      const leftAt = performance.now();
      leaving.abort();
      closedMs.push(await upstream.requests[call].closed - leftAt);
      await reading;
      // What is not streamed does not stand in /_debug/generated.
      if (stream) assertEquals((await settled(service.url)).outcome, "aborted");
    }
    for (const ms of closedMs) assertLess(ms, 100);
  });
}
