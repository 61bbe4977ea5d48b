import { Problems } from "../load/problems.ts";
import { ramp } from "../load/ramp.ts";
import { get } from "../load/request.ts";
import { type Quantiles, Samples } from "../load/samples.ts";
import type { Transport } from "../load/transport.ts";
import type { Relay } from "./relay.ts";

/** What the streams of one server were like. */
export interface Taken {
  tokens: number;
  /** From the relay before the far server to the reader, ms. */
  delay: Quantiles;
  /** First token after the request was sent, ms. */
  ttft: Quantiles;
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

/** A ramp of streams whose tokens pass the relay: what delays them from there to the reader counts inside the window. */
export async function takeStreams(transport: Transport, wanted: Streams): Promise<Taken> {
  const { relay, port } = wanted;
  relay.forget();
  const delay = new Samples(), ttft = new Samples(), problems = new Problems();
  let measuring = false, received = 0;

  const { cost, unfinished } = await ramp(transport, {
    ...wanted,
    spreadMs: SPREAD_MS,
    settleMs: SETTLE_MS,
    request: (stream, tokens) => get(port, `/stream?prompt=stream-${stream}&max_tokens=${tokens}`),
    events(stream) {
      let index = 0;
      return {
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
          if (problem !== null) problems.add(problem);
        },
      };
    },
    onWindow: (open) => measuring = open,
  });
  if (unfinished > 0) problems.add("did not end in time", unfinished);

  const [delays, first] = [delay.quantiles(), ttft.quantiles()];
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
