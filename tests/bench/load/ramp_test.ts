import { assertEquals, assertGreater } from "@std/assert";
import { ramp } from "../../../bench/load/ramp.ts";
import { streamRequest } from "../../../bench/load/request.ts";
import { createTransport } from "../../../bench/load/transport.ts";
import { startService } from "../../helpers/service.ts";

const STREAMS = 5;
const ITL_MS = 5;

Deno.test("every stream has begun before the window opens, and ends well after it has closed", async () => {
  await using service = startService();
  const transport = createTransport("sockets");
  const happened: string[] = [];
  const asked = new Set<number>();
  let inWindow = 0, measuring = false;
  const { cost, bodyBytes, unfinished } = await ramp(transport, {
    port: service.port,
    pid: undefined,
    streams: STREAMS,
    itlMs: ITL_MS,
    seconds: 0.1,
    spreadMs: 50,
    settleMs: 100,
    request(stream, tokens) {
      asked.add(stream);
      return streamRequest({ port: service.port, prompt: `stream-${stream}`, tokens, itlMs: ITL_MS });
    },
    events: () => ({
      tokens(count, _now, previous) {
        if (previous === null) happened.push("begins");
        if (measuring) inWindow += count;
      },
      ended: (problem) => void happened.push(problem ?? "ends"),
    }),
    onWindow(open) {
      measuring = open;
      happened.push(open ? "window opens" : "window closes");
    },
  });
  transport.close();
  assertEquals(happened, [
    ...Array(STREAMS).fill("begins"),
    "window opens",
    "window closes",
    ...Array(STREAMS).fill("ends"),
  ]);
  assertEquals([...asked], [0, 1, 2, 3, 4]);
  assertGreater(inWindow, 0);
  assertGreater(bodyBytes, inWindow);
  assertGreater(cost.seconds, 0.09);
  assertEquals([unfinished, cost.serverCpuUs, cost.serverResidentBytes], [0, null, null]);
});
