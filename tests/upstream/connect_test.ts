import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { dial } from "../../lib/engine/upstream/dial.ts";
import { startOver } from "../helpers/scripted_upstream.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

/** How many sockets of this machine are still connecting to `port`. Linux only. */
async function connecting(port: number): Promise<number> {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = (await Deno.readTextFile("/proc/net/tcp")).split("\n").slice(1);
  return lines.map((line) => line.trim().split(/\s+/))
    .filter(([, , to, state]) => to?.endsWith(remote) && state === "02").length;
}

/** A port that no further connection gets through to: its listener accepts none and its backlog is full. */
async function deafPort(): Promise<{ port: number } & Disposable> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog: 1 });
  const { port } = listener.addr as Deno.NetAddr;
  const fill = await Promise.all([1, 2].map(() => Deno.connect({ hostname: "127.0.0.1", port })));
  return {
    port,
    [Symbol.dispose]() {
      for (const conn of fill) conn.close();
      listener.close();
    },
  };
}

const linux = Deno.build.os === "linux";

Deno.test({
  name: "U2: who leaves while the upstream is still being connected to takes that back at once",
  ignore: !linux,
  fn: async () => {
    using deaf = await deafPort();
    await using service = startOver(`http://127.0.0.1:${deaf.port}`);
    using client = await RawClient.open(service.port);
    client.request("/stream?prompt=hello");
    await until("a socket that connects", async () => await connecting(deaf.port) === 1);
    // A look at all sockets of a busy machine takes its time.
    const lookedAt = performance.now();
    await connecting(deaf.port);
    const leftAt = performance.now();
    client.fin();
    await until("no socket that connects", async () => await connecting(deaf.port) === 0, { everyMs: 1 });
    assertLessOrEqual(performance.now() - leftAt, 100 + 2 * (leftAt - lookedAt));
    await until("an outcome", () => service.ended.length === 1);
    const record = service.ended[0];
    assertEquals([record.outcome, record.phaseAtAbort, record.generated], ["aborted", "prefill", 0]);
    assert(record.upstreamClosedAt !== null);
  },
});

Deno.test({
  name: "an upstream that cannot be connected to within the limit is 504, and its socket is given up",
  ignore: !linux,
  fn: async () => {
    using deaf = await deafPort();
    await using service = startOver(`http://127.0.0.1:${deaf.port}`, { limits: { connectMs: 50 } });
    const response = await fetch(`${service.url}/stream?prompt=hello`);
    assertEquals(response.status, 504);
    assertEquals((await response.json()).error, {
      code: "upstream_timeout",
      message: "The upstream server did not connect within 0.05 s.",
      param: null,
    });
    assertEquals(await connecting(deaf.port), 0);
  },
});

Deno.test("who leaves in the moment in which the connection comes about leaves no socket open", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  let open = 0;
  const accepting = (async () => {
    for await (const conn of listener) {
      open++;
      conn.read(new Uint8Array(1)).catch(() => {}).then(() => {
        conn.close();
        open--;
      });
    }
  })();
  const connect = dial(`http://127.0.0.1:${port}`);
  for (let round = 0; round < 20; round++) {
    const left = new AbortController();
    const connecting = connect(left.signal).then((connection) => connection.close(), () => {});
    // The process is busy until both the connection and the timer are due, so that they fall into the same turn.
    setTimeout(() => left.abort(), 1);
    for (const end = performance.now() + 2; performance.now() < end;);
    await connecting;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await until("no open socket", () => open === 0, { withinMs: 2000 });
  listener.close();
  await accepting;
});

Deno.test("U2: who leaves during the TLS handshake closes its socket at once, though the upstream says nothing", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  await using service = startOver(`https://127.0.0.1:${port}`);
  for (let round = 0; round < 5; round++) {
    using client = await RawClient.open(service.port);
    client.request("/generate", { body: { prompt: "hello" } });
    using conn = await listener.accept();
    const buffer = new Uint8Array(4096);
    assert(await conn.read(buffer) !== null, "the handshake's first bytes");
    let closed = false;
    const closing = conn.read(buffer).catch(() => null).then((size) => closed = size === null);
    client.reset();
    await until("the end of the upstream's socket", () => closed, { withinMs: 1000, everyMs: 1 });
    await closing;
    await until("an outcome", () => service.ended.length === round + 1);
    const record = service.ended[round];
    assertEquals([record.outcome, record.upstreamClosedAt === null, service.unexpected], [
      "aborted",
      false,
      [],
    ]);
  }
  listener.close();
});

Deno.test("an upstream that does not answer the TLS handshake within the limit is 504, and its socket is closed", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  await using service = startOver(`https://127.0.0.1:${port}`, { limits: { connectMs: 100 } });
  const replying = fetch(`${service.url}/generate`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"prompt":"hello"}',
  });
  using conn = await listener.accept();
  let closed = false;
  const reading = (async () => {
    while (await conn.read(new Uint8Array(4096)).catch(() => null) !== null);
    closed = true;
  })();
  await until("the end of the upstream's socket", () => closed, { withinMs: 1000 });
  await reading;
  const reply = await replying;
  assertEquals([reply.status, (await reply.json()).error.code], [504, "upstream_timeout"]);
  listener.close();
});
