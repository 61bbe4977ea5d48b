import { assert, assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { median } from "../../bench/median.ts";
import { draw, seedOf } from "../../lib/engine/hash.ts";
import { SSE_HEAD } from "../helpers/raw_server.ts";
import { delta, DONE, finish, startOver } from "../helpers/scripted_upstream.ts";
import { identityHolds } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const STREAMS = 500;
const SEED = seedOf("upstream storm", 1);
const GAP_MS = 10;
const PROMPT_TOKENS = 7;

/** Tokens of stream `i`, each a delta of two with a running count. */
const tokensOf = (i: number) => 2 * (5 + draw(SEED, 1, i) % 40);
const isCut = (i: number) => i % 2 === 0;
const cutAfterMs = (i: number) => draw(SEED, 2, i) % 400;

/** An upstream that counts, for each stream, what it said that it has sent. */
async function countingUpstream() {
  const said = new Map<number, number>();
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    let timer: ReturnType<typeof setInterval> | undefined;
    socket.on("close", () => {
      clearInterval(timer);
      sockets.delete(socket);
    }).on("error", () => {}).on("data", (bytes) => {
      const stream = Number(/"content":"(\d+)"/.exec(bytes.toString())![1]);
      socket.write(SSE_HEAD);
      said.set(stream, 0);
      timer = setInterval(() => {
        const sent = said.get(stream)! + 2;
        if (sent > tokensOf(stream)) {
          clearInterval(timer);
          return void socket.end(finish("length") + DONE);
        }
        socket.write(delta("a b", { usage: { prompt_tokens: PROMPT_TOKENS, completion_tokens: sent } }));
        said.set(stream, sent);
      }, GAP_MS);
    });
  });
  server.listen(0, "127.0.0.1", 1024);
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    said,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

Deno.test("500 streams, half of them cut at random: every record agrees with the upstream, and no socket is left", async () => {
  await using upstream = await countingUpstream();
  await using service = startOver(upstream.url);
  await Promise.all(Array.from({ length: STREAMS }, async (_, i) => {
    using client = await RawClient.open(service.port);
    client.request(`/stream?prompt=${i}&max_tokens=100`, {
      headers: { "X-Request-Id": `s${i}`, "Connection": "close" },
    });
    if (isCut(i)) {
      await new Promise((resolve) => setTimeout(resolve, cutAfterMs(i)));
      if (i % 4 === 0) client.fin();
      else client.reset();
    }
    await client.untilEnded(20_000);
  }));
  // One that was cut before its request was read has no record; it reached no engine either.
  await until("all outcomes", () => service.ledger.running === 0);
  await until("no socket", () => upstream.sockets.size === 0);
  const records = service.ledger.records();
  assertEquals(records.length, service.ended.length);
  assertGreaterOrEqual(records.length, STREAMS * 0.98);

  // What the upstream wrote while the news of a cut was on its way to it.
  const onItsWay: number[] = [];
  const sums = { completed: 0, recorded: 0, whole: 0, aborted: 0 };
  for (const record of records) {
    const i = Number(record.id.slice(1));
    const { outcome, generated } = record;
    const { completion_tokens } = record.usageNow();
    assertEquals(generated, completion_tokens);
    if (outcome === "completed") {
      sums.completed++;
      sums.recorded += completion_tokens;
      sums.whole += upstream.said.get(i)!;
      assertEquals(record.usage, { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokensOf(i) });
    } else {
      assertEquals([outcome, isCut(i)], ["aborted", true]);
      sums.aborted++;
      const said = upstream.said.get(i) ?? 0;
      assertLessOrEqual(completion_tokens, said, `${i}`);
      onItsWay.push(said - completion_tokens);
      assertLessOrEqual(record.generatedAfterAbort, 1);
    }
    assert(record.upstreamClosedAt !== null);
  }
  assertEquals(sums.recorded, sums.whole);
  assertLessOrEqual(median(onItsWay)!, 20);
  assertGreaterOrEqual(sums.completed, STREAMS / 2);
  assertGreaterOrEqual(sums.aborted, STREAMS / 8);
  assert(identityHolds(service.ledger.totals()));
  assertEquals(service.unexpected, []);
});
