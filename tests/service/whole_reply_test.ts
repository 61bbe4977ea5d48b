import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { startService } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const bodies = {
  "/generate": { prompt: "hello", max_tokens: 5000 },
  "/v1/completions": { prompt: "hello", max_tokens: 5000 },
  "/v1/chat/completions": { messages: [{ role: "user", content: "hello" }], max_tokens: 5000 },
};

/** Sends a request's head first and its body in a write of its own, which the server so reads apart. */
async function sendApart(client: RawClient, path: string, body: unknown): Promise<void> {
  const text = JSON.stringify(body);
  client.send(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`,
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  client.send(text);
}

for (const [path, body] of Object.entries(bodies)) {
  for (const how of ["fin", "reset"] as const) {
    Deno.test(`${path}: a client whose body came apart from its head leaves by ${how}, and is noticed at once`, async () => {
      await using service = startService();
      using client = await RawClient.open(service.port);
      await sendApart(client, path, body);
      await until("some tokens", () => service.ledger.totalGenerated > 3);
      const leftAt = performance.now();
      client[how]();
      await until("an outcome", () => service.ended.length === 1, { everyMs: 1 });
      assertLessOrEqual(performance.now() - leftAt, 100);
      assertEquals(service.ended[0].outcome, "aborted");
      assert(service.ended[0].generatedAfterAbort <= 1);
    });
  }

  Deno.test(`${path}: what fails late still has its status, however long the client has waited`, async () => {
    await using service = startService();
    using client = await RawClient.open(service.port);
    await sendApart(client, path, { ...body, max_tokens: 20, itl_ms: 300, fault: "error@5" });
    await until("the answer", () => client.text.endsWith("}}"), { withinMs: 5000 });
    assertEquals([client.status, service.ended[0].error], [500, "internal"]);
    assert(JSON.parse(client.text.slice(client.head.length)).error.message.includes("error@5"));
  });
}
