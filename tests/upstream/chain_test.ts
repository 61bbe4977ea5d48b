import { assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { nginxMissing, startNginx } from "../helpers/nginx.ts";
import { startOver } from "../helpers/scripted_upstream.ts";
import { startService } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const ignore = nginxMissing();

/** nginx → the service over an upstream → the service with the simulated engine. */
async function chain(settings: { timeToFirstToken?: number; maxNumSeqs?: number } = {}) {
  const far = startService({ settings: { model: "m", interTokenLatency: 5, ...settings } });
  const near = startOver(far.url);
  const proxy = await startNginx(near.port);
  return {
    far,
    near,
    proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await near[Symbol.asyncDispose]();
      await far[Symbol.asyncDispose]();
    },
  };
}

for (const how of ["fin", "reset"] as const) {
  Deno.test({
    name: `the far counter stops when the near client leaves by ${how}`,
    ignore,
    fn: async () => {
      await using all = await chain();
      using client = await RawClient.open(all.proxy.port);
      client.request("/stream?prompt=hello&max_tokens=2000");
      await client.untilTokens(10);
      if (how === "fin") client[Symbol.dispose]();
      else client.reset();
      const leftAt = performance.now();
      await until("the far outcome", () => all.far.ended.length === 1, { everyMs: 1 });
      assertLessOrEqual(performance.now() - leftAt, 1000);
      await until("the near outcome", () => all.near.ended.length === 1);
      const [far, near] = [all.far.ended[0], all.near.ended[0]];
      assertEquals([far.outcome, near.outcome], ["aborted", "aborted"]);
      assertGreaterOrEqual(near.generated, 10);
      assertGreaterOrEqual(far.generated, near.generated);
      assertLessOrEqual(far.generated, near.generated + 3);
      const stopped = all.far.ledger.totalGenerated;
      await new Promise((resolve) => setTimeout(resolve, 50));
      assertEquals(all.far.ledger.totalGenerated, stopped);
      assertEquals(all.far.deps.engine.slots!(), { max: 256, in_use: 0, queue: 0 });
    },
  });
}

Deno.test({
  name: "who leaves the chain while the far end queues or prefills has cost no token",
  ignore,
  fn: async () => {
    await using all = await chain({ timeToFirstToken: 10_000, maxNumSeqs: 1 });
    const clients: RawClient[] = [];
    for (const waiting of [{ in_use: 1, queue: 0 }, { in_use: 1, queue: 1 }]) {
      const client = await RawClient.open(all.proxy.port);
      client.request("/stream?prompt=hello");
      clients.push(client);
      await until("its place", () => {
        const { in_use, queue } = all.far.deps.engine.slots!();
        return in_use === waiting.in_use && queue === waiting.queue;
      });
    }
    // One after the other: the slot of the first would be the second's.
    for (const [left, client] of clients.reverse().entries()) {
      client[Symbol.dispose]();
      await until("its far outcome", () => all.far.ended.length === left + 1);
    }
    assertEquals(all.far.ended.map(({ phaseAtAbort }) => phaseAtAbort), ["queued", "prefill"]);
    assertEquals(all.far.ledger.totalGenerated, 0);
  },
});

Deno.test({
  name: "a whole stream comes through the chain as the far end made it, with the far end's usage",
  ignore,
  fn: async () => {
    await using all = await chain();
    const path = "/stream?prompt=%EC%95%88%EB%85%95%20%F0%9F%99%82&max_tokens=50";
    const [through, direct] = [
      await (await fetch(all.proxy.url + path)).text(),
      await (await fetch(all.far.url + path)).text(),
    ];
    assertEquals(through, direct);
    await until("the near outcome", () => all.near.ended.length === 1);
    assertEquals(all.near.ended[0].usage, all.far.ended[0].usageNow());
  },
});
