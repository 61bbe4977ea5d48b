import { z } from "zod";
import { Settings } from "../../lib/config.ts";
import { FLAG, number, readOptions, UsageError, whole } from "../options.ts";
import { mostReaders } from "../study/schedule.ts";
import { MODEL, TOKENS } from "./load.ts";

export const HELP =
  `The trade-off of the batch size: the same readers against servers with more and more slots.

Usage: deno task tradeoff [options]

  --sizes A,B,…   values of --max-num-seqs (1,2,4,8,16,32,64)
  --slowdown X    by how much each further member of the batch slows a step down (0.03)
  --rate X        readers per second (30)
  --seconds X     how long readers come to each size; the first fifth is not measured (10)
  --seed N        of the load: arrivals, prompts, lengths (1)
  --out DIR       where the files go (metrics)
  --json          print the figures as JSON
  --help          this text

Files: tradeoff.txt tradeoff.json tradeoff.svg tradeoff.html. Exit code 1 when a reader failed, the
server's totals do not add up or nothing was measured, 2 for bad usage.
The simulated engine takes ${MODEL.timeToFirstTokenMs} ms to the first token and ${MODEL.interTokenLatencyMs} ms for each further one when alone; a reader asks for
${TOKENS.min} to ${TOKENS.max} tokens.
`;

const size = whole(1, 1000);

const Options = z.object({
  sizes: z.string().default("1,2,4,8,16,32,64")
    .transform((text) => [...new Set(text.split(",").map((item) => item.trim()))])
    .refine(
      (items) => items.every((item) => size.safeParse(item).success),
      "whole numbers from 1 to 1000, between commas",
    )
    .transform((items) => items.map(Number).sort((a, b) => a - b)),
  slowdown: number(0, 1).default(0.03),
  rate: number(0.01, 1000).default(30),
  seconds: number(0.5, 600).default(10),
  seed: whole(0, 0xffff_ffff).default(1),
  out: z.string().min(1, "a folder").default("metrics"),
  json: FLAG,
});

export type Options = z.output<typeof Options>;

/** @throws {UsageError} */
export function parseOptions(args: string[]): Options | "help" {
  const options = readOptions(Options, args);
  if (options === "help") return "help";
  // In a batch too small for them nearly all readers wait, and one that is refused would be no figure but a failure.
  const { maxWaitingQueueLength } = Settings.parse({});
  if (mostReaders(options) > maxWaitingQueueLength) {
    throw new UsageError(
      `--rate and --seconds: wanted fewer than ${maxWaitingQueueLength} readers, as the server lets that many wait, ` +
        `got about ${Math.round(options.rate * options.seconds)}`,
    );
  }
  return options;
}
