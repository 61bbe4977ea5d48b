/** `deno task bench:upstream`: what the hop through an upstream adds to each token. See --help. */
import { MAX_MODEL_LEN } from "../lib/config.ts";
import { createTransport } from "./load/transport.ts";
import { machine } from "./machine.ts";
import { command } from "./options.ts";
import { type Running, start } from "./process.ts";
import { Printer } from "./printer.ts";
import { withSeconds } from "./progress.ts";
import { prepareFile, writeJson } from "./results.ts";
import { serveLauncher } from "./serve_launcher.ts";
import { figuresOf, type Round } from "./upstream/figures.ts";
import { HELP, type Options, parseOptions } from "./upstream/options.ts";
import { Relay } from "./upstream/relay.ts";
import { type Taken, takeStreams } from "./upstream/window.ts";

async function measure(options: Options, print: (text: string) => void): Promise<Round[]> {
  const { streams, itl: itlMs, seconds } = options;
  await using servers = new AsyncDisposableStack();
  const serve = async (name: string, ...flags: string[]): Promise<Running> => {
    const launcher = await serveLauncher(["--max-model-len", `${MAX_MODEL_LEN}`, ...flags]);
    const server = await start(name, launcher);
    servers.defer(server.stop);
    return server;
  };
  const far = await serve(
    "simulated",
    ...[
      "--time-to-first-token",
      "0",
      "--inter-token-latency",
      `${itlMs}ms`,
      "--max-num-seqs",
      String(streams),
    ],
  );
  using relay = new Relay(far.port);
  const near = await serve(
    "upstream",
    "--engine",
    "upstream",
    "--upstream-url",
    `http://127.0.0.1:${relay.port}/v1`,
  );
  // The one that leaves the event loop free for the relay.
  const transport = createTransport("sockets");
  const take = (title: string, server: Running, seconds: number) => {
    const port = server === far ? relay.port : server.port;
    const name = server === far ? "direct" : "hop";
    return withSeconds(
      `${title}, ${name}`,
      () => takeStreams(transport, { relay, port, pid: server.pid, streams, itlMs, seconds }),
    );
  };
  try {
    for (const server of [far, near]) await take("warm-up", server, 1.5);
    const rounds: Round[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      // A machine that slows down must not favour the first.
      const taken = new Map<Running, Taken>();
      for (const server of round % 2 === 1 ? [far, near] : [near, far]) {
        taken.set(server, await take(`round ${round} of ${options.rounds}`, server, seconds));
      }
      const both = { direct: taken.get(far)!, hop: taken.get(near)! };
      rounds.push(both);
      print(`round ${round}\n${line("direct", both.direct)}\n${line("hop", both.hop)}`);
    }
    return rounds;
  } finally {
    transport.close();
  }
}

function line(
  name: string,
  { delay, ttft, cpuUsPerToken, generatorCpuShare, otherCpuShare, problems }: Taken,
) {
  const ms = (value: number) => value.toFixed(2).padStart(6);
  const share = (value: number | null) => value === null ? "n/a" : `${Math.round(value * 100)} %`;
  return `  ${name.padEnd(7)} delay p50 ${ms(delay.p50)} p99 ${ms(delay.p99)} max ${ms(delay.max)} ms` +
    `  ttft p50 ${ms(ttft.p50)} ms  CPU ${cpuUsPerToken?.toFixed(1) ?? "n/a"} µs/token` +
    `  (generator ${share(generatorCpuShare)}, others ${share(otherCpuShare)} of a core)` +
    problems.map((problem) => `\n    ${problem}`).join("");
}

async function main(options: Options): Promise<number> {
  const printer = new Printer();
  const print = (text: string) => printer.print(text);
  await prepareFile("--out", options.out);
  const about = await machine();
  print(
    `${about.os} ${about.arch}, ${about.cores} cores, Deno ${about.deno}, load average ${about.loadAverage}\n` +
      `${options.streams} streams × ${1000 / options.itl} tokens/s, ${options.seconds} s`,
  );
  const rounds = await measure(options, print);
  const figures = figuresOf(rounds);
  print("medians");
  for (const { what, value, most } of figures) {
    print(`  ${what}: ${value.toFixed(2)}, wanted at most ${most}${value > most ? ": FAILED" : ""}`);
  }
  await writeJson(options.out, { machine: about, options, figures, rounds });
  print(`wrote ${options.out}`);
  printer.check();
  const broken = rounds.some(({ direct, hop }) => direct.problems.length + hop.problems.length > 0);
  return broken || figures.some(({ value, most }) => value > most) ? 1 : 0;
}

if (import.meta.main) {
  await command({ name: "bench:upstream", help: HELP, parse: parseOptions, work: main });
  // The transport may hold the process.
  Deno.exit();
}
