import { assertEquals, assertLess } from "@std/assert";
import { RawClient, requestText } from "../helpers/sockets.ts";
import { residentMb, spawnService } from "../helpers/spawned_service.ts";
import { until } from "../helpers/until.ts";

const CLIENTS = 250;

/** As many clients, each with a body that never comes to its end, until all are refused. */
async function refuseLateBodies(port: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.open(port)));
  try {
    for (const client of clients) {
      client.send(requestText("/generate", { body: "{", headers: { "Content-Length": "1000" } }));
    }
    await until("an answer to each", () => clients.every((client) => client.text !== ""));
    assertEquals(clients.map(({ status }) => status), Array(CLIENTS).fill(408));
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
}

Deno.test("R6: a body that did not arrive leaves no memory behind", async () => {
  await using service = await spawnService("--body-timeout", "200ms");
  // Warm: what the first ones make the runtime allocate stays, and is used again.
  for (let round = 0; round < 3; round++) await refuseLateBodies(service.port);
  const before = await residentMb(service.pid);
  for (let round = 0; round < 6; round++) await refuseLateBodies(service.port);
  // A read buffer of 64 KB each would be 94 MB.
  assertLess(await residentMb(service.pid) - before, 50);
});
