import { parseArgs } from "node:util";
import { z } from "zod";
import { PEERS } from "./catalog.ts";

export const HELP = `Measures this server beside what a user would pick instead, on the same work.

  deno task bench:peers [options]

  --only A,B         only these servers: ${PEERS.map((peer) => peer.name).join(", ")}
  --jobs A,B         paced, unpaced (both)
  --rounds N         rounds, the order reversed in every second one (3)
  --streams A,B      streams of the paced job; several numbers make a sweep (1000)
  --itl MS           time between the tokens of a paced stream (20)
  --seconds N        length of the paced window (10)
  --readers N        readers of the unpaced job (32)
  --tokens N         tokens of an unpaced stream (500)
  --unpaced-seconds N  length of the unpaced window (4)
  --transport NAME   how the generator reads: auto, epoll, sockets (auto)
  --json FILE        the results for machines (metrics/peers.json)
  --url URL          measure the server that already runs there (127.0.0.1 only), and no other
  --pid PID          its process, for CPU and memory
  --help             this text
`;

const names = PEERS.map((peer) => peer.name);
const list = (text: string) => text.split(",").map((item) => item.trim()).filter((item) => item !== "");
const number = z.string().transform(Number).pipe(z.number().positive());
const count = z.string().transform(Number).pipe(z.number().int().positive());

export const Options = z.object({
  only: z.string().transform(list).pipe(z.array(z.enum(names)).min(1)).default(
    names,
  ),
  jobs: z.string().transform(list).pipe(
    z.array(z.enum(["paced", "unpaced"])).min(1),
  ).default([
    "paced",
    "unpaced",
  ]),
  rounds: count.default(3),
  streams: z.string().transform(list).pipe(z.array(count).min(1)).default([
    1000,
  ]),
  itl: number.default(20),
  seconds: number.default(10),
  readers: count.default(32),
  tokens: count.default(500),
  "unpaced-seconds": number.default(4),
  transport: z.enum(["auto", "epoll", "sockets"]).default("auto"),
  json: z.string().default("metrics/peers.json"),
  url: z.url().transform((url) => new URL(url)).refine(
    (url) => ["127.0.0.1", "localhost"].includes(url.hostname),
    {
      error: "wanted a URL on 127.0.0.1: load goes to this machine only",
    },
  ).optional(),
  pid: count.optional(),
});

export type Options = z.infer<typeof Options>;

/** The options, or the text of --help. Throws an error of one line for anything it does not know. */
export function readOptions(args: string[]): Options | "help" {
  const names = [...Object.keys(Options.shape), "help"];
  const flags = names.map((name) => [name, { type: name === "help" ? "boolean" : "string" }] as const);
  const { values } = parseArgs({
    args,
    options: Object.fromEntries(flags),
    allowPositionals: false,
  });
  const given: Record<string, unknown> = values;
  if (given.help) return "help";
  const parsed = Options.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue.path[0]);
  throw new Error(`--${name} ${given[name]}: ${issue.message}`);
}
