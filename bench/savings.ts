/** `deno task savings`: what stopping on disconnect saves. See --help. */
import { startServer } from "./local_server.ts";
import { machine } from "./machine.ts";
import { command } from "./options.ts";
import { progressLine } from "./progress.ts";
import { prepareFolder } from "./results.ts";
import { faultsOf, figuresOf } from "./savings/figures.ts";
import { findingsOf, type Side } from "./savings/findings.ts";
import { MODEL, roundSchedule } from "./savings/load.ts";
import { HELP, type Options, parseOptions } from "./savings/options.ts";
import { filesOf, writeFiles } from "./study/files.ts";
import { type Run, run } from "./study/run.ts";
import type { PlannedReader } from "./study/schedule.ts";

type Kind = "stopping" | "ignoring";

const NAME = "savings";

async function work(options: Options): Promise<number> {
  const { out, json, rounds } = options;
  await prepareFolder("--out", out);
  const runs: Record<Kind, Run[]> = { stopping: [], ignoring: [] };
  const faults: string[] = [];
  const host = await machine();
  const progress = progressLine();
  try {
    for (let round = 0; round < rounds; round++) {
      const schedule = roundSchedule(options, round);
      const order: Kind[] = ["stopping", "ignoring"];
      for (const kind of round % 2 === 0 ? order : order.reverse()) {
        const done = await runOnce(options, schedule, kind, (text) => {
          progress(`round ${round + 1} of ${rounds}, ${kind}: ${text}`);
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
  const findings = findingsOf({
    options,
    machine: host,
    stopping: side("stopping"),
    ignoring: side("ignoring"),
  });
  const text = await writeFiles(out, NAME, findings);
  console.log(json ? JSON.stringify(findings.json) : `${text}\n${filesOf(out, NAME).join("\n")}`);
  for (const fault of faults) console.error(`${NAME}: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

async function runOnce(
  { slots, seconds }: Options,
  schedule: PlannedReader[],
  kind: Kind,
  progress: (text: string) => void,
): Promise<Run> {
  const flags = [
    ...["--max-num-seqs", `${slots}`, "--log-format", "text"],
    ...["--time-to-first-token", `${MODEL.timeToFirstTokenMs}ms`],
    ...["--inter-token-latency", `${MODEL.interTokenLatencyMs}ms`],
    ...kind === "ignoring" ? ["--ignore-disconnects"] : [],
  ];
  await using server = await startServer(flags);
  return await run({
    server,
    schedule,
    seconds,
    atEnd: "drain",
    onSample: ({ atMs, queue }) => progress(`${(atMs / 1000).toFixed(1)} s, ${queue} wait`),
  });
}

if (import.meta.main) await command({ name: NAME, help: HELP, parse: parseOptions, work });
