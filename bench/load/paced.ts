import type { PacedJob, PacedResult } from "./job.ts";
import { Problems } from "./problems.ts";
import { ramp } from "./ramp.ts";
import { streamRequest } from "./request.ts";
import { Samples } from "./samples.ts";
import type { Transport } from "./transport.ts";
import { readUsage } from "./usage.ts";

/**
 * A ramp of `streams` streams at the pace of `itlMs`. Gaps count when they end inside the window; TTFT counts for every
 * stream.
 */
export async function runPaced(job: PacedJob, transport: Transport): Promise<PacedResult> {
  const { port, pid, prompt, itlMs } = job;
  const gaps = new Samples(), ttft = new Samples(), problems = new Problems();
  let measuring = false, received = 0, allReceived = 0, complete = 0, incomplete = 0;

  const before = pid === undefined ? null : readUsage(pid);
  const { cost, bodyBytes, unfinished } = await ramp(transport, {
    ...job,
    pid,
    request: (_, tokens) => streamRequest({ port, prompt, tokens, itlMs }),
    events: () => ({
      tokens(count, now, previous, sentAt) {
        allReceived += count;
        if (previous === null) ttft.add(now - sentAt);
        if (!measuring) return;
        received += count;
        if (previous !== null) gaps.add(now - previous);
        // Tokens that share a read arrived together: the gap between them is 0.
        for (let extra = 1; extra < count; extra++) gaps.add(0);
      },
      ended(problem) {
        if (problem === null) complete++;
        else {
          incomplete++;
          problems.add(problem);
        }
      },
    }),
    onWindow: (open) => measuring = open,
  });

  return {
    kind: "paced",
    transport: transport.name,
    streams: job.streams,
    seconds: cost.seconds,
    tokens: received,
    tokensPerSecond: received / cost.seconds,
    rateShare: received / (cost.seconds * job.streams * 1000 / itlMs),
    bodyBytesPerToken: bodyBytes / Math.max(1, allReceived),
    gapMs: gaps.quantiles(),
    ttftMs: ttft.quantiles(),
    complete,
    incomplete,
    unfinished,
    errors: problems.list(),
    serverCpuUsPerToken: cost.serverCpuUs === null || received === 0 ? null : cost.serverCpuUs / received,
    serverCpuShare: cost.serverCpuShare,
    generatorCpuShare: cost.generatorCpuShare,
    otherCpuShare: cost.otherCpuShare,
    residentKibPerStream: before && cost.serverResidentBytes !== null
      ? (cost.serverResidentBytes - before.residentBytes) / 1024 / job.streams
      : null,
  };
}
