/** `deno task bench:peers`: this server beside what a user would pick instead. See --help. */
import { messageOf } from "../lib/client/message.ts";
import { requireDescriptors, runJob } from "./load/generator.ts";
import type { Job } from "./load/job.ts";
import { readBusyUs, readUsage } from "./load/usage.ts";
import { machine } from "./machine.ts";
import { command, UsageError } from "./options.ts";
import { OURS, PEERS } from "./peers/catalog.ts";
import { HELP, type Options, parseOptions } from "./peers/options.ts";
import { disturbance, generatorRoom, type Run, runLine, summarize, summaryTable } from "./peers/report.ts";
import { verify } from "./peers/verify.ts";
import { type Running, start } from "./process.ts";
import { Printer } from "./printer.ts";
import { withSeconds } from "./progress.ts";
import { prepareFile, writeJson } from "./results.ts";

/** A server under test: started anew for each run, so that no run inherits another's heap. */
interface Contender {
  name: string;
  start(): Promise<Running>;
}

type Load = { title: string; job: (server: Running) => Job };

function loadsOf(options: Options): Load[] {
  const { transport, seconds, readers, tokens } = options;
  const prompt = "hello";
  const paced = options.streams.map((streams): Load => {
    const itl = options.itl ?? 1000 * streams / options["total-rate"]!;
    const job = { kind: "paced", prompt, transport, streams, itlMs: itl, seconds } as const;
    return {
      title: `paced, ${streams} streams × ${Number((1000 / itl).toPrecision(4))} tokens/s, ${seconds} s`,
      job: ({ port, pid }) => ({ ...job, port, pid, spreadMs: 1000, settleMs: 2000 }),
    };
  });
  const window = options["unpaced-seconds"];
  const job = { kind: "unpaced", prompt, transport, readers, tokens, seconds: window } as const;
  const unpaced: Load = {
    title: `unpaced, ${readers} readers of ${tokens}-token streams, ${window} s`,
    job: ({ port, pid }) => ({ ...job, port, pid, settleMs: 1000, healthEveryMs: 10 }),
  };
  return [
    ...options.jobs.includes("paced") ? paced : [],
    ...options.jobs.includes("unpaced") ? [unpaced] : [],
  ];
}

async function contendersOf(options: Options, print: (text: string) => void): Promise<Contender[]> {
  if (options.url) {
    const port = Number(options.url.port || 80);
    // Without --pid nothing is read from /proc.
    const running: Running = {
      port,
      pid: options.pid,
      stop: () => Promise.resolve(),
    };
    return [{ name: options.url.host, start: () => Promise.resolve(running) }];
  }
  const contenders: Contender[] = [];
  for (const peer of PEERS.filter((peer) => options.only.includes(peer.name))) {
    try {
      const launcher = await withSeconds(`preparing ${peer.name}`, peer.prepare);
      print(`${peer.name}: ${peer.title}`);
      contenders.push({
        name: peer.name,
        start: () => start(peer.name, launcher),
      });
    } catch (error) {
      print(`skipped ${peer.name}: ${messageOf(error)}`);
    }
  }
  return contenders;
}

async function measure(
  contender: Contender,
  load: Load,
  round: number,
): Promise<Run> {
  const server = await contender.start();
  try {
    await verify(server.port);
    return {
      peer: contender.name,
      round,
      result: await runJob(load.job(server)),
    };
  } finally {
    await server.stop();
  }
}

async function main(options: Options): Promise<number> {
  const printer = new Printer();
  const print = (text: string) => printer.print(text);
  await prepareFile("--json", options.json);
  // Where there is no /proc, nothing is known of any.
  if (options.pid !== undefined && readBusyUs() !== null && readUsage(options.pid) === null) {
    throw new UsageError(`--pid: wanted a process that runs here, got ${options.pid}`);
  }
  await requireDescriptors(Math.max(...options.streams));
  const contenders = await contendersOf(options, print);
  if (contenders.length === 0) throw new Error("no server left to measure");
  const about = await machine();
  print(
    `${about.os} ${about.arch}, ${about.cores} cores, Deno ${about.deno}, load average ${about.loadAverage}`,
  );
  const loads = [];
  let failed = false;
  for (const load of loadsOf(options)) {
    print(`\n${load.title}`);
    const runs: Run[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      // Forward, backward, forward: a machine that slows down must not favour the first.
      for (
        const contender of round % 2 === 1 ? contenders : contenders.toReversed()
      ) {
        try {
          const run = await withSeconds(
            `round ${round} of ${options.rounds}, ${contender.name}`,
            () => measure(contender, load, round),
          );
          runs.push(run);
          // Its figures are of other work than what was asked for.
          if (run.result.errors.length > 0) failed = true;
          print(runLine(run));
        } catch (error) {
          failed = true;
          print(
            `  round ${round} ${contender.name}: failed: ${messageOf(error)}`,
          );
        }
      }
    }
    if (runs.length === 0) continue;
    const reference = runs.some((run) => run.peer === OURS) ? OURS : runs[0].peer;
    print(
      `\nmedians (ratio to ${reference})\n${summaryTable(runs, reference)}`,
    );
    for (const line of [generatorRoom(runs), disturbance(runs)]) if (line !== "") print(line);
    loads.push({
      title: load.title,
      reference,
      summaries: summarize(runs, reference),
      runs,
    });
  }
  // What an earlier run has found is worth more than nothing.
  if (loads.length === 0) throw new Error(`nothing was measured; ${options.json} is as it was`);
  await writeJson(options.json, { machine: about, options, loads });
  print(`\nwrote ${options.json}`);
  printer.check();
  return failed ? 1 : 0;
}

if (import.meta.main) {
  await command({ name: "bench:peers", help: HELP, parse: parseOptions, work: main });
  // The transport may hold the process.
  Deno.exit();
}
