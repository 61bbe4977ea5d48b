import { z } from "zod";
import { MAX_RECORDS } from "../../lib/stream/ledger.ts";
import { FLAG, number, readOptions, UsageError, whole } from "../options.ts";
import { mostReaders } from "../study/schedule.ts";
import { LEAVE_AFTER, MODEL, rateFor, TOKENS } from "./load.ts";

export const HELP =
  `What stopping on disconnect saves: the same readers against the same server, once as it is and
once with --ignore-disconnects.

Usage: deno task savings [options]

  --share X     of the readers, the share that leaves early, 0 to 1 (0.4)
  --slots N     places in the running batch (8)
  --rate X      readers per second (88 % of what the slots can serve when leaving stops the work)
  --seconds X   how long readers come (20)
  --seed N      of the load: arrivals, prompts, lengths, who leaves and when (1)
  --rounds N    pairs of runs, the order reversed in every second one, each with the next seed (1)
  --out DIR     where the files go (metrics)
  --json        print the figures as JSON
  --help        this text

Files: savings.txt savings.json savings.svg savings.html. Exit code 1 when a reader failed, the tokens do not add up,
a run that stops on disconnect went on generating, or nothing was measured; 2 for bad usage.
The simulated engine takes ${MODEL.timeToFirstTokenMs} ms to the first token and ${MODEL.interTokenLatencyMs} ms for each further one; a reader asks for
${TOKENS.min} to ${TOKENS.max} tokens, one that leaves does so after ${LEAVE_AFTER.min} to ${LEAVE_AFTER.max}.
`;

const Options = z.object({
  share: number(0, 1).default(0.4),
  slots: whole(1, 1000).default(8),
  rate: number(0.01, 1000).optional(),
  seconds: number(0.5, 600).default(20),
  seed: whole(0, 0xffff_ffff).default(1),
  rounds: whole(1, 20).default(1),
  out: z.string().min(1, "a folder").default("metrics"),
  json: FLAG,
});

export type Options = z.output<typeof Options> & { rate: number };

/** @throws {UsageError} */
export function parseOptions(args: string[]): Options | "help" {
  const options = readOptions(Options, args);
  if (options === "help") return "help";
  const rate = options.rate ?? rateFor(options);
  // The tokens are summed up over the server's records: none may be missing.
  if (mostReaders({ rate, seconds: options.seconds }) > MAX_RECORDS) {
    throw new UsageError(
      `--slots, --rate and --seconds: wanted fewer than ${MAX_RECORDS} readers, as the server keeps that many records, ` +
        `got about ${Math.round(rate * options.seconds)}`,
    );
  }
  return { ...options, rate };
}
