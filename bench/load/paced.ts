import type { PacedJob, PacedResult } from "./job.ts";
import { Problems } from "./problems.ts";
import { streamRequest } from "./request.ts";
import { Samples } from "./samples.ts";
import { StreamReader } from "./stream.ts";
import type { Transport } from "./transport.ts";
import { readUsage } from "./usage.ts";
import { openWindow } from "./window.ts";

/** Time the streams are given to end after they should have, ms. */
const DRAIN_MS = 5000;

/**
 * Opens `streams` streams spread over `spreadMs`, rests, measures for `seconds` while all are open, then
 * reads them to their end. Gaps count when they end inside the window; TTFT counts for every stream.
 */
export async function runPaced(job: PacedJob, transport: Transport): Promise<PacedResult> {
  const lifeMs = job.spreadMs + job.settleMs + job.seconds * 1000;
  // Long enough that the first stream opened is still running when the window ends.
  const tokens = Math.ceil((lifeMs + 500) / job.itlMs);
  const request = streamRequest({ port: job.port, prompt: job.prompt, tokens, itlMs: job.itlMs });
  const before = job.pid === undefined ? null : readUsage(job.pid);

  const gaps = new Samples(), ttft = new Samples(), problems = new Problems();
  const readers: StreamReader[] = [];
  let measuring = false, received = 0, allReceived = 0, complete = 0, ended = 0;

  const open = () =>
    readers.push(
      new StreamReader(transport, job.port, request, tokens, {
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
          ended++;
          if (problem === null) complete++;
          else problems.add(problem);
        },
      }),
    );

  const start = performance.now();
  const until = async (time: number) => {
    for (let now = performance.now(); now < time; now = performance.now()) {
      const due = Math.min(job.streams, Math.floor((now - start) / job.spreadMs * job.streams) + 1);
      while (readers.length < due) open();
      const next = readers.length < job.streams ? start + readers.length * job.spreadMs / job.streams : time;
      await transport.poll(Math.min(next, time) - now);
    }
  };

  await until(start + job.spreadMs + job.settleMs);
  const closeWindow = openWindow(job.pid);
  measuring = true;
  await until(start + lifeMs);
  measuring = false;
  const cost = closeWindow();
  const after = job.pid === undefined ? null : readUsage(job.pid);

  const deadline = start + (job.spreadMs + tokens * job.itlMs) + DRAIN_MS;
  while (ended < readers.length && performance.now() < deadline) await transport.poll(10);
  for (const reader of readers) reader.close();

  return {
    kind: "paced",
    transport: transport.name,
    streams: job.streams,
    seconds: cost.seconds,
    tokens: received,
    tokensPerSecond: received / cost.seconds,
    rateShare: received / (cost.seconds * job.streams * 1000 / job.itlMs),
    bodyBytesPerToken: readers.reduce((sum, reader) => sum + reader.bodyBytes, 0) / Math.max(1, allReceived),
    gapMs: gaps.summary(),
    ttftMs: ttft.summary(),
    complete,
    incomplete: ended - complete,
    unfinished: readers.length - ended,
    errors: problems.list(),
    serverCpuUsPerToken: cost.serverCpuUs === null || received === 0 ? null : cost.serverCpuUs / received,
    serverCpuShare: cost.serverCpuShare,
    generatorCpuShare: cost.generatorCpuShare,
    otherCpuShare: cost.otherCpuShare,
    residentKibPerStream: before && after
      ? (after.residentBytes - before.residentBytes) / 1024 / job.streams
      : null,
  };
}
