import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { median } from "../../bench/median.ts";
import type { Script } from "../helpers/raw_server.ts";
import { delta, overUpstream, PING, ROLE, stream } from "../helpers/scripted_upstream.ts";
import { RawClient, requestText } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const ROUNDS = 3;
/** The bound is 100 ms; the median of the rounds has to keep half of it. */
const BOUND_MS = 50;

const tokens = Array.from({ length: 500 }, () => [delta(" x"), 20]).flat();
const pings = Array.from({ length: 500 }, () => [PING, 20]).flat();

/** `afterMs`: how long the request has been out when the client leaves, for phases that no token marks. */
const UPSTREAMS: Record<string, { script: Script; atTokens: number; afterMs?: number }> = {
  "is silent after it accepted": { script: { steps: [], end: "hold" }, atTokens: 0 },
  "is silent, and our own status is out": { script: { steps: [], end: "hold" }, atTokens: 0, afterMs: 300 },
  "has sent its head": { script: stream([], "hold"), atTokens: 0 },
  "has sent a role and only pings since": { script: stream([ROLE, ...pings], "hold"), atTokens: 0 },
  "sends tokens": { script: stream(tokens, "hold"), atTokens: 3 },
  "fell silent after three tokens": {
    script: stream([delta("a"), 5, delta("b"), 5, delta("c")], "hold"),
    atTokens: 3,
  },
};

const REQUESTS: Record<string, () => string> = {
  "a stream": () => requestText("/stream?prompt=hello&max_tokens=2000"),
  "a reply that is not streamed": () =>
    requestText("/generate", { body: { prompt: "hello", max_tokens: 2000 } }),
  "a chat stream": () =>
    requestText("/v1/chat/completions", {
      body: { model: "m", stream: true, messages: [{ role: "user", content: "hello" }] },
    }),
};

const LEAVE = { FIN: (client: RawClient) => client.fin(), RST: (client: RawClient) => client.reset() };

for (const [what, request] of Object.entries(REQUESTS)) {
  for (const [does, { script, atTokens, afterMs = 30 }] of Object.entries(UPSTREAMS)) {
    for (const [how, leave] of Object.entries(LEAVE)) {
      Deno.test(`U1, U2: who leaves ${what} by ${how} while the upstream ${does} closes its socket`, async () => {
        await using over = await overUpstream(script);
        const { service, upstream } = over;
        const closed: number[] = [];
        for (let round = 0; round < ROUNDS; round++) {
          using client = await RawClient.open(service.port);
          client.send(request());
          await until("the upstream's request", () => upstream.requests.length === round + 1);
          const record = service.ledger.records()[0];
          await until("its tokens", () => record.generated >= atTokens);
          // Before the first token there is nothing to wait for: what matters is that time has passed in this phase.
          await new Promise((resolve) => setTimeout(resolve, afterMs));
          const leftAt = performance.now();
          leave(client);
          closed.push(await upstream.requests[round].closed - leftAt);
          await until("an outcome", () => record.outcome !== "running");
          assertEquals([record.outcome, record.phaseAtAbort], [
            "aborted",
            atTokens > 0 ? "decode" : "prefill",
          ]);
          assertLessOrEqual(record.generatedAfterAbort, 1);
          if (atTokens === 0) assertEquals(record.generated, 0);
          const { stop_ms, upstream_closed_ms } = record.toJSON();
          assert(upstream_closed_ms !== null && stop_ms !== null && upstream_closed_ms <= stop_ms);
        }
        assertLessOrEqual(median(closed)!, BOUND_MS);
        assertEquals(service.ended.length, ROUNDS);
        assertEquals(service.unexpected, []);
      });
    }
  }
}
