import { parseArgs } from "node:util";
import { z } from "zod";

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
`;

const count = z.coerce.number().int().positive();

const Options = z.object({
  streams: count.max(5000).default(64),
  itl: z.coerce.number().positive().default(20),
  seconds: z.coerce.number().positive().default(8),
  rounds: count.default(3),
  out: z.string().default("metrics/upstream.json"),
});

export type Options = z.infer<typeof Options>;

/** Throws with one line for what cannot be used. */
export function readOptions(args: string[]): Options | "help" {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    options: { streams: text, itl: text, seconds: text, rounds: text, out: text, help: { type: "boolean" } },
  });
  if (values.help) return "help";
  const parsed = Options.safeParse(values);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`--${issue.path.join(".")}: ${issue.message}`);
}
