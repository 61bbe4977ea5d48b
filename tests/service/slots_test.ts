import { assertEquals } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { type Service, startService } from "../helpers/service.ts";
import { joined, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const TIMES = 20;

/** What a client does that must not cost the service a slot. */
const ENDS: Record<string, (service: Service) => Promise<void>> = {
  "a body that is not valid": (service) => post(service, '{"prompt":5}', 400),
  "a body that is too large": (service) => post(service, `{"prompt":"${"x".repeat(5000)}"}`, 413),
  "a prompt that is too long": (service) => post(service, '{"prompt":"a","max_tokens":8192}', 400),
  "an engine that refuses": (service) => post(service, '{"prompt":"a","fault":"status:503"}', 503),
  "an unknown fault": (service) => post(service, '{"prompt":"a","fault":"explode"}', 400),
  "a failure before the first token": (service) => post(service, '{"prompt":"a","fault":"error@0"}', 500),
  "a failure in the stream": (service) => post(service, '{"prompt":"a","fault":"error@2"}', 200),
  "an RST before the head of the request is whole": async (service) => {
    using client = await RawClient.open(service.port);
    client.send("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Le");
    client.reset();
  },
  "an RST before the body of the request is whole": async (service) => {
    using client = await RawClient.open(service.port);
    client.request("/stream", { body: '{"prompt":', headers: { "Content-Length": "100" } });
    client.reset();
  },
  "an RST right behind the request": async (service) => {
    using client = await RawClient.open(service.port);
    client.request("/stream?prompt=a");
    client.reset();
  },
  "an RST in the stream": async (service) => {
    using client = await RawClient.open(service.port);
    client.request("/stream?prompt=a&max_tokens=5000");
    await client.untilTokens(2);
    client.reset();
  },
  "a stream that cuts itself off": async (service) => {
    using client = await RawClient.open(service.port);
    client.request("/stream?prompt=a&fault=close@2", { headers: { Connection: "close" } });
    await client.untilEnded();
  },
};

async function post(service: Service, body: string, status: number): Promise<void> {
  const response = await fetch(`${service.url}/stream`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  });
  await response.text();
  assertEquals(response.status, status);
}

for (const [name, act] of Object.entries(ENDS)) {
  Deno.test(`R3: ${TIMES} times ${name} leave no slot taken, and the next request works`, async () => {
    await using service = startService({ settings: { maxNumSeqs: 2, maxBodyBytes: 4096 } });
    // One after the other, or the queue would be what is tested.
    for (let i = 0; i < TIMES; i++) await act(service);
    await until("nothing running", () => service.ledger.running === 0);
    const { in_use, queue } = service.deps.engine.slots!();
    assertEquals([in_use, queue], [0, 0]);
    // As many at once as there are slots: a lost one would make the second wait for ever.
    const bodies = await Promise.all([1, 2].map(async () => {
      const response = await fetch(`${service.url}/stream?prompt=hello&max_tokens=5`);
      return joined(await response.text());
    }));
    assertEquals(bodies, Array(2).fill(generate("hello", 5).join("")));
    assertEquals(service.unexpected, []);
  });
}
