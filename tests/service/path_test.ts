import { assert, assertEquals, assertGreaterOrEqual, assertLess, assertLessOrEqual } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { nginxMissing, startNginx } from "../helpers/nginx.ts";
import { type Service, startService } from "../helpers/service.ts";
import { joined, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const TOKENS = 20;
const GAP_MS = 30;
/** How late an event may be. Far less than the stream takes, so a proxy that collects cannot pass. */
const LATE_MS = 100;

interface Read {
  at: number;
  text: string;
}

const query = `prompt=hello&max_tokens=${TOKENS}&itl_ms=${GAP_MS}`;

/** Reads the stream raw, as a client that takes any coding or none. */
async function readRaw(port: number, acceptEncoding: string): Promise<{ head: string; reads: Read[] }> {
  using client = await RawClient.open(port);
  client.request(`/stream?${query}`, {
    headers: { "Accept-Encoding": acceptEncoding, "X-Request-Id": "path", Connection: "close" },
  });
  await client.untilEnded();
  assertEquals(client.status, 200);
  const reads = client.arrivals.map(({ at, bytes }) => ({ at, text: new TextDecoder().decode(bytes) }));
  return { head: client.head, reads };
}

/** Reads the stream with a client that asks for a coding and takes it off again. */
async function readDecoded(port: number): Promise<Read[]> {
  const response = await fetch(`http://127.0.0.1:${port}/stream?${query}`, {
    headers: { "X-Request-Id": "path" },
  });
  const reads: Read[] = [];
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    reads.push({ at: performance.now(), text });
  }
  return reads;
}

/**
 * Each of the 20 tokens comes in a read of its own, soon after it was handed over. Both ends are in this process, so
 * that one clock times them.
 */
function checkArrivals(service: Service, reads: Read[]): void {
  const arrivals = reads.filter(({ text }) => text.includes('{"token":'));
  assertEquals(joined(arrivals.map(({ text }) => text).join("")), generate("hello", TOKENS).join(""));
  assertEquals(arrivals.length, TOKENS, "each event has to come in a read of its own");
  const record = service.ledger.find("path")!;
  service.ledger.timesOf(record)!.forEach(({ handed_us }, i) => {
    const late = arrivals[i].at - record.arrivedAt - handed_us! / 1000;
    assertLess(late, LATE_MS, `event ${i} came ${late} ms after it was handed over`);
  });
}

/** Leaves a stream behind a proxy after three tokens; the generation has to stop. */
async function checkDisconnect(service: Service, port: number, leave: (client: RawClient) => void) {
  const before = service.ended.length;
  using client = await RawClient.open(port);
  client.request(`/stream?prompt=hello&max_tokens=5000&itl_ms=10`);
  await client.untilTokens(3);
  leave(client);
  const record = await until("an outcome", () => service.ended[before], { withinMs: 2000 });
  assertEquals(record.outcome, "aborted");
  assertGreaterOrEqual(record.generated, 3);
  assertLessOrEqual(record.generated, record.delivered + 1);
  assertLess(record.generated, 210, "the generation has to stop soon after the client left");
  assertLessOrEqual(record.generatedAfterAbort, 1);
}

Deno.test("P2: asked for gzip, br or zstd, a stream is not coded, and each event comes at once", async () => {
  await using service = startService();
  for (const accepted of ["gzip, br, zstd", "*"]) {
    const { head, reads } = await readRaw(service.port, accepted);
    assert(!/^content-encoding/im.test(head), head);
    checkArrivals(service, reads);
  }
});

const PROXIES = {
  "P1: nginx as it is": "",
  "P3: nginx with gzip on": "gzip on; gzip_types *; gzip_min_length 1;",
};
const ignore = nginxMissing();

for (const [name, extra] of Object.entries(PROXIES)) {
  Deno.test({ name: `${name}: 20 events are 20 arrivals, each at once`, ignore }, async () => {
    await using service = startService();
    await using nginx = await startNginx(service.port, extra);
    checkArrivals(service, (await readRaw(nginx.port, "identity")).reads);
    // Whether nginx codes it is nginx's; that each event still comes at once is ours, by X-Accel-Buffering.
    const { head } = await readRaw(nginx.port, "gzip, br, zstd");
    assertEquals(/^content-encoding: gzip/im.test(head), extra !== "");
    checkArrivals(service, await readDecoded(nginx.port));
  });

  Deno.test({ name: `${name}: a reader that leaves it stops the generation behind it`, ignore }, async () => {
    await using service = startService();
    await using nginx = await startNginx(service.port, extra);
    await checkDisconnect(service, nginx.port, (client) => client[Symbol.dispose]());
    await checkDisconnect(service, nginx.port, (client) => client.reset());
    // In prefill, too, where nothing is being written that could fail.
    using client = await RawClient.open(nginx.port);
    client.request("/stream?prompt=hello&ttft_ms=60000");
    await until("a generation", () => service.ledger.running === 1);
    client[Symbol.dispose]();
    const record = await until("an outcome", () => service.ended[2], { withinMs: 2000 });
    assertEquals([record.outcome, record.generated, record.phaseAtAbort], ["aborted", 0, "prefill"]);
  });
}
