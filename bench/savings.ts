/** `deno task savings`: what stopping on disconnect saves. See --help. */
import { machine } from "./machine.ts";
import { command } from "./options.ts";
import { progressLine } from "./progress.ts";
import { prepareFolder } from "./results.ts";
import { faultsOf, figuresOf } from "./savings/figures.ts";
import { findingsOf, type Side } from "./savings/findings.ts";
import { MODEL, roundSchedule } from "./savings/load.ts";
import { HELP, type Options, parseOptions } from "./savings/options.ts";
import { fileNames } from "./study/files.ts";
import { report } from "./study/report.ts";
import type { Run } from "./study/run.ts";
import { serveAndRun } from "./study/serve_and_run.ts";

type Kind = "stopping" | "ignoring";

const NAME = "savings";

async function work(options: Options): Promise<number> {
  const { out, json, rounds, slots, seconds } = options;
  await prepareFolder("--out", out, fileNames(NAME));
  const runs: Record<Kind, Run[]> = { stopping: [], ignoring: [] };
  const faults: string[] = [];
  const host = await machine();
  const progress = progressLine();
  try {
    for (let round = 0; round < rounds; round++) {
      const schedule = roundSchedule(options, round);
      const order: Kind[] = ["stopping", "ignoring"];
      for (const kind of round % 2 === 0 ? order : order.reverse()) {
        const done = await serveAndRun({
          slots,
          model: MODEL,
          flags: kind === "ignoring" ? ["--ignore-disconnects"] : [],
          schedule,
          seconds,
          atEnd: "drain",
          progress: (text) => progress(`round ${round + 1} of ${rounds}, ${kind}: ${text}`),
        });
        runs[kind].push(done);
        faults.push(...faultsOf(done, kind === "stopping").map((fault) => `${kind}: ${fault}`));
      }
    }
  } finally {
    progress(undefined);
  }
  const side = (kind: Kind): Side => ({
    pooled: figuresOf(runs[kind]),
    rounds: runs[kind].map((each) => figuresOf([each])),
    samples: runs[kind][0].samples,
  });
  const [stopping, ignoring] = [side("stopping"), side("ignoring")];
  const measured = [stopping, ignoring].some(({ pooled }) => pooled.tokens.generated > 0);
  const findings = measured ? findingsOf({ options, machine: host, stopping, ignoring }) : null;
  return await report({ name: NAME, findings, faults, out, json });
}

if (import.meta.main) await command({ name: NAME, help: HELP, parse: parseOptions, work });
