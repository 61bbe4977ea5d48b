/** `deno task tradeoff`: throughput against the time to the first token, by the size of the batch. See --help. */
import { machine } from "./machine.ts";
import { command } from "./options.ts";
import { progressLine } from "./progress.ts";
import { prepareFolder } from "./results.ts";
import { fileNames } from "./study/files.ts";
import { report } from "./study/report.ts";
import { serveAndRun } from "./study/serve_and_run.ts";
import { type Point, pointOf } from "./tradeoff/figures.ts";
import { findingsOf } from "./tradeoff/findings.ts";
import { MODEL, schedule, timeFactor } from "./tradeoff/load.ts";
import { HELP, type Options, parseOptions } from "./tradeoff/options.ts";

const NAME = "tradeoff";

async function work(options: Options): Promise<number> {
  const { out, json, sizes, slowdown, seconds } = options;
  await prepareFolder("--out", out, fileNames(NAME));
  const points: Point[] = [];
  const faults: string[] = [];
  const host = await machine();
  const progress = progressLine();
  try {
    for (const slots of sizes) {
      const name = slots === 1 ? "1 slot" : `${slots} slots`;
      const done = await serveAndRun({
        slots,
        model: MODEL,
        flags: ["--time-factor-under-load", `${timeFactor(slots, slowdown)}`],
        schedule: schedule(options),
        seconds,
        // A queue that grew for the whole window would take many times as long to be served.
        atEnd: "cut",
        progress: (text) => progress(`${name}: ${text}`),
      });
      const point = pointOf(slots, done);
      points.push(point);
      const failed = done.readings.find(({ ending }) => ending === "failed");
      if (failed) faults.push(`${name}: ${point.failed} readers failed, the first: ${failed.problem}`);
      if (!done.totalsAddUp) {
        faults.push(`${name}: the server's totals are not the sum of their parts`);
      }
    }
  } finally {
    progress(undefined);
  }
  const measured = points.some(({ tokensPerSecond, ttftMs }) => tokensPerSecond > 0 || ttftMs !== null);
  const findings = measured ? findingsOf(options, host, points) : null;
  return await report({ name: NAME, findings, faults, out, json });
}

if (import.meta.main) await command({ name: NAME, help: HELP, parse: parseOptions, work });
