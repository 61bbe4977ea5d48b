import { Problems } from "../load/problems.ts";
import { get } from "../load/request.ts";
import { Samples, type Summary } from "../load/samples.ts";
import { StreamReader } from "../load/stream.ts";
import type { Transport } from "../load/transport.ts";
import { openWindow } from "../load/window.ts";
import type { Relay } from "./relay.ts";

/** What the streams of one server were like. */
export interface Taken {
  tokens: number;
  /** From the relay before the far server to the reader, ms. */
  delay: Summary;
  /** First token after the request was sent, ms. */
  ttft: Summary;
  /** CPU of the server's process, µs; null without /proc. */
  cpuUsPerToken: number | null;
  /** Shares of one core. */
  generatorCpuShare: number;
  otherCpuShare: number | null;
  problems: string[];
}

export interface Streams {
  relay: Relay;
  /** Of the server that the streams are asked of, or of the relay itself. */
  port: number;
  pid: number | undefined;
  streams: number;
  itlMs: number;
  seconds: number;
}

const SPREAD_MS = 500;
const SETTLE_MS = 500;
/** Time the streams are given to end after they should have. */
const DRAIN_MS = 5000;

/** Opens the streams spread over half a second, rests, measures a window in which all are open, and reads them to the end. */
export async function takeStreams(transport: Transport, wanted: Streams): Promise<Taken> {
  const { relay, port, pid, streams, itlMs, seconds } = wanted;
  const lifeMs = SPREAD_MS + SETTLE_MS + seconds * 1000;
  const tokens = Math.ceil((lifeMs + 500) / itlMs);
  relay.forget();
  const delay = new Samples(), ttft = new Samples(), problems = new Problems();
  const readers: StreamReader[] = [];
  let measuring = false, received = 0, ended = 0;

  const open = () => {
    const stream = readers.length;
    const request = get(port, `/stream?prompt=stream-${stream}&max_tokens=${tokens}`);
    let index = 0;
    readers.push(
      new StreamReader(transport, port, request, tokens, {
        tokens(count, now, previous, sentAt) {
          if (previous === null) ttft.add(now - sentAt);
          for (let i = 0; i < count; i++, index++) {
            if (!measuring) continue;
            received++;
            const passedAt = relay.passedAt(stream, index);
            if (passedAt === undefined) problems.add("a token that did not come through the relay");
            else delay.add(now - passedAt);
          }
        },
        ended(problem) {
          ended++;
          if (problem !== null) problems.add(problem);
        },
      }),
    );
  };

  const start = performance.now();
  const until = async (time: number) => {
    for (let now = performance.now(); now < time; now = performance.now()) {
      const due = Math.min(streams, Math.floor((now - start) / SPREAD_MS * streams) + 1);
      while (readers.length < due) open();
      const next = readers.length < streams ? start + readers.length * SPREAD_MS / streams : time;
      await transport.poll(Math.min(next, time) - now);
    }
  };
  await until(start + SPREAD_MS + SETTLE_MS);
  const closeWindow = openWindow(pid);
  measuring = true;
  await until(start + lifeMs);
  measuring = false;
  const cost = closeWindow();
  const deadline = start + SPREAD_MS + tokens * itlMs + DRAIN_MS;
  while (ended < readers.length && performance.now() < deadline) await transport.poll(10);
  for (const reader of readers) reader.close();
  if (ended < readers.length) problems.add("did not end in time", readers.length - ended);

  const [delays, first] = [delay.summary(), ttft.summary()];
  if (delays === null || first === null) throw new Error(`no token came: ${problems.list().join("; ")}`);
  return {
    tokens: received,
    delay: delays,
    ttft: first,
    cpuUsPerToken: cost.serverCpuUs === null ? null : cost.serverCpuUs / received,
    generatorCpuShare: cost.generatorCpuShare,
    otherCpuShare: cost.otherCpuShare,
    problems: problems.list(),
  };
}
