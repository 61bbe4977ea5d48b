import { assert, assertEquals } from "@std/assert";
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
    Deno.test(`${path}: a client whose body came apart from its head leaves by ${how}, and is noticed`, async () => {
      await using service = startService();
      using client = await RawClient.open(service.port);
      await sendApart(client, path, body);
      await until("some tokens", () => service.ledger.totalGenerated > 3);
      client[how]();
      await until("an outcome", () => service.ended.length === 1, { withinMs: 2000 });
      assertEquals(service.ended[0].outcome, "aborted");
      assert(service.ended[0].generatedAfterAbort <= 1);
    });
  }

  Deno.test(`${path}: a reply that is long in coming is the same JSON`, async () => {
    await using service = startService({ settings: { interTokenLatency: 15 } });
    const post = async (max_tokens: number) => {
      const response = await fetch(service.url + path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...body, max_tokens, itl_ms: max_tokens === 30 ? 15 : 0 }),
      });
      assertEquals(response.headers.get("content-type"), "application/json");
      return (await response.json()).usage.completion_tokens;
    };
    assertEquals([await post(30), await post(31)], [30, 31]);
  });
}

const failing = { prompt: "hello", max_tokens: 20, itl_ms: 100, fault: "error@5" };

Deno.test("what fails late still has its status where the client was watched all the time", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request("/generate", { body: failing });
  await until("the answer", () => client.text.endsWith("}}"), { withinMs: 5000 });
  assertEquals(client.status, 500);
  assertEquals(JSON.parse(client.text.slice(client.head.length)).error.code, "internal");
});

Deno.test("what fails after the head is out tears the connection, and is never taken for an answer", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  await sendApart(client, "/generate", failing);
  await client.untilEnded();
  assertEquals(client.status, 200);
  assertEquals(client.body, { text: "", terminated: false });
  assertEquals(service.ended.map(({ outcome, error }) => [outcome, error]), [["failed", "internal"]]);
});
