import { assert, assertEquals } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { startService } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

/** The service as any server of `fetch` functions runs it, which knows nothing of its bodies. */
function underDenoServe() {
  return startService({
    settings: { interTokenLatency: 20 },
    listen(fetch) {
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, fetch);
      return { port: server.addr.port, shutdown: () => server.shutdown() };
    },
  });
}

Deno.test("under a server that reads the body as a stream the same events come, each for itself", async () => {
  await using service = underDenoServe();
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=hello&max_tokens=20");
  await until("the end", () => client.body.terminated);
  const events = generate("hello", 20).map((token) => `data: ${JSON.stringify({ token })}\n\n`);
  assertEquals(client.body.text, events.join("") + "data: [DONE]\n\n");
  // Held back they would come in one read, or a few. On a busy machine a read may find two that did not wait.
  assert(client.arrivals.length >= 15, `20 tokens came in ${client.arrivals.length} reads`);
});

Deno.test("under such a server too a client that leaves stops its generation", async () => {
  await using service = underDenoServe();
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=hello&max_tokens=1000");
  await until("some tokens", () => service.ledger.totalGenerated > 3);
  client.reset();
  await until("an outcome", () => service.ended.length === 1);
  const { outcome, generated, delivered, generatedAfterAbort } = service.ended[0];
  assertEquals([outcome, generatedAfterAbort <= 1, generated <= delivered + 1], ["aborted", true, true]);
});
