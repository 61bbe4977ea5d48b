/** `deno task tradeoff`: throughput against the time to the first token, by the size of the batch. See --help. */
import { startServer } from "./local_server.ts";
import { machine } from "./machine.ts";
import { command } from "./options.ts";
import { progressLine } from "./progress.ts";
import { prepareFolder } from "./results.ts";
import { filesOf, writeFiles } from "./study/files.ts";
import { type Run, run } from "./study/run.ts";
import { type Point, pointOf } from "./tradeoff/figures.ts";
import { findingsOf } from "./tradeoff/findings.ts";
import { MODEL, schedule, timeFactor } from "./tradeoff/load.ts";
import { HELP, type Options, parseOptions } from "./tradeoff/options.ts";

const NAME = "tradeoff";

async function work(options: Options): Promise<number> {
  const { out, json, sizes } = options;
  await prepareFolder("--out", out);
  const points: Point[] = [];
  const faults: string[] = [];
  const host = await machine();
  const progress = progressLine();
  try {
    for (const slots of sizes) {
      const done = await runOnce(options, slots, (text) => progress(`${slots} slots: ${text}`));
      const point = pointOf(slots, done);
      points.push(point);
      const failed = done.readings.find(({ ending }) => ending === "failed");
      if (failed) faults.push(`${slots} slots: ${point.failed} readers failed, the first: ${failed.problem}`);
      if (!done.totalsAddUp) {
        faults.push(`${slots} slots: the server's totals are not the sum of their parts`);
      }
    }
  } finally {
    progress(undefined);
  }
  const findings = findingsOf(options, host, points);
  const text = await writeFiles(out, NAME, findings);
  console.log(json ? JSON.stringify(findings.json) : `${text}\n${filesOf(out, NAME).join("\n")}`);
  for (const fault of faults) console.error(`${NAME}: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

async function runOnce(options: Options, slots: number, progress: (text: string) => void): Promise<Run> {
  const flags = [
    ...["--max-num-seqs", `${slots}`, "--log-format", "text"],
    ...["--time-to-first-token", `${MODEL.timeToFirstTokenMs}ms`],
    ...["--inter-token-latency", `${MODEL.interTokenLatencyMs}ms`],
    ...["--time-factor-under-load", `${timeFactor(slots, options.slowdown)}`],
  ];
  await using server = await startServer(flags);
  return await run({
    server,
    schedule: schedule(options),
    seconds: options.seconds,
    // A queue that grew for the whole window would take many times as long to be served.
    atEnd: "cut",
    onSample: ({ atMs, queue }) => progress(`${(atMs / 1000).toFixed(1)} s, ${queue} wait`),
  });
}

if (import.meta.main) await command({ name: NAME, help: HELP, parse: parseOptions, work });
