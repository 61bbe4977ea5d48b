/** `deno task bench:pacing`: how late tokens are against their plan, by the server's own record. See --help. */
import { z } from "zod";
import { distribution } from "../lib/client/timing.ts";
import { MAX_TIMED } from "../lib/stream/token_times.ts";
import { Debug } from "./debug.ts";
import { type LocalServer, startServer } from "./local_server.ts";
import { machine } from "./machine.ts";
import { command, number, readOptions, UsageError, whole } from "./options.ts";
import { drain } from "./pacing/drain.ts";
import { progressLine } from "./progress.ts";
import { prepareFile, writeJson } from "./results.ts";

const MAX_P50_MS = 1;
/** Medians of 300 tokens differ by some tenths from run to run on a shared machine; a drift grows with each token. */
const MAX_DRIFT_MS = 0.5;

const HELP =
  `Measures how late tokens are against their plan (actual − planned), by the server's own record of each token.

  deno task bench:pacing [options]

  --streams N   streams at once (300)
  --tokens N    tokens of each (500)
  --itl MS      time between tokens (20)
  --out FILE    the figures for machines (metrics/pacing.json)

Also compared: the fifth tokens of the streams with the last ones, since a pacer that chains its waits drifts.
Exit code 1 when the median is over ${MAX_P50_MS} ms, or that of the last tokens ${MAX_DRIFT_MS} ms over that of the fifth.
`;

const Options = z.object({
  streams: whole(1, 1000).default(300),
  tokens: whole(10, 8000).default(500),
  itl: number(0.1, 10_000).default(20),
  out: z.string().min(1, "a file").default("metrics/pacing.json"),
});
type Options = z.infer<typeof Options>;

/** Opens all streams, spread over a second so that they do not tick together, and reads them to their ends. */
async function readAll(
  server: LocalServer,
  { streams, tokens, itl }: z.infer<typeof Options>,
): Promise<string[]> {
  const progress = progressLine();
  let ended = 0;
  const ids = Array.from({ length: streams }, (_, i) => `pacing-${i}`);
  try {
    await Promise.all(ids.map(async (id, i) => {
      await new Promise((resolve) => setTimeout(resolve, (i * 997) % 1000));
      await drain(server.url, `/stream?prompt=${id}&max_tokens=${tokens}&itl_ms=${itl}`, id);
      progress(`${++ended} of ${streams} streams have ended`);
    }));
  } finally {
    progress(undefined);
  }
  return ids;
}

/** How late each token of each stream was, ms. */
async function lateness(server: LocalServer, ids: string[], wanted: number): Promise<number[][]> {
  using debug = await Debug.open(server.url);
  const byStream: number[][] = [];
  for (const id of ids) {
    const tokens = await debug.tokenTimes(id);
    if (tokens.length !== wanted) {
      throw new Error(`${id}: wanted the times of ${wanted} tokens, got those of ${tokens.length}`);
    }
    byStream.push(tokens.map((token) => (token.actual_us - token.planned_us) / 1000));
  }
  return byStream;
}

async function work(options: Options): Promise<number> {
  const tokens = options.streams * options.tokens;
  if (tokens > MAX_TIMED) {
    throw new UsageError(
      `--streams and --tokens: wanted at most ${MAX_TIMED} tokens in all, of which the server keeps the times, got ${tokens}`,
    );
  }
  await prepareFile("--out", options.out);
  const slots = ["--max-num-seqs", String(options.streams)];
  await using server = await startServer(slots);
  const byStream = await lateness(server, await readAll(server, options), options.tokens);
  const at = (index: number) => distribution(byStream.map((tokens) => tokens[index]));
  const all = distribution(byStream.flat());
  const early = at(4), late = at(options.tokens - 1);
  const figures = {
    machine: await machine(),
    ...options,
    late_ms: all,
    late_ms_token_5: early,
    late_ms_last_token: late,
  };
  await writeJson(options.out, figures);
  const row = (name: string, d: typeof all) =>
    `${name.padEnd(12)} p50 ${d!.p50.toFixed(2)}  p99 ${d!.p99.toFixed(2)}  max ${d!.max.toFixed(2)}`;
  console.log(
    [
      `${options.streams} streams × ${
        1000 / options.itl
      } tokens/s × ${options.tokens} tokens: actual − planned, ms`,
      row("all tokens", all),
      row("token 5", early),
      row(`token ${options.tokens}`, late),
    ].join("\n"),
  );
  console.log(`→ ${options.out}`);
  const bounds = [
    { what: "the median", value: all!.p50, most: MAX_P50_MS },
    {
      what: "the last tokens' median over that of the fifth",
      value: late!.p50 - early!.p50,
      most: MAX_DRIFT_MS,
    },
  ];
  const broken = bounds.filter(({ value, most }) => value > most);
  for (const { what, value, most } of broken) {
    console.error(`bench:pacing: ${what}: wanted at most ${most} ms, got ${value.toFixed(2)} ms`);
  }
  return broken.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  await command({ name: "bench:pacing", help: HELP, parse: (args) => readOptions(Options, args), work });
}
