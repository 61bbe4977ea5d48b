import { z } from "zod";
import { number, readOptions, whole } from "../options.ts";
import { MAX_ADDED_P50_MS, MAX_ADDED_P99_MS, MAX_CPU_RATIO } from "./figures.ts";

export const HELP =
  `Measures what the hop through an upstream costs: the service over the upstream engine, whose upstream
is the service with the simulated engine, beside streams taken from that one directly, in turns.

  deno task bench:upstream [options]

  --streams N   streams at once (64)
  --itl MS      time between the tokens of a stream (20)
  --seconds N   length of each measured window (8)
  --rounds N    rounds, the order reversed in every second one (3)
  --out FILE    the figures for machines (metrics/upstream.json)
  --help        this text

Both kinds of stream pass a relay before the simulated engine. It notes when each token passes, by the clock of the
reader at the other end: the delay is from there to the reader. Added is the delay through the hop less that of the
direct streams, p50 from p50 and p99 from p99.
Exit code 1 when a median over the rounds breaks its bound, over ${MAX_ADDED_P50_MS} ms added at p50, over ${MAX_ADDED_P99_MS} ms added at p99 or
over ${MAX_CPU_RATIO} times the CPU per token of the simulated engine, or when a stream failed; 2 for bad usage; else 0.
`;

const Options = z.object({
  streams: whole(1, 5000).default(64),
  itl: number(0.1, 10_000).default(20),
  seconds: number(0.5, 3600).default(8),
  rounds: whole(1, 100).default(3),
  out: z.string().min(1, "a file").default("metrics/upstream.json"),
});

export type Options = z.infer<typeof Options>;

/** @throws {UsageError} for an unknown option or a value that cannot be used */
export function parseOptions(args: string[]): Options | "help" {
  return readOptions(Options, args);
}
