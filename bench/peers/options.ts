import { z } from "zod";
import { number, readOptions, UsageError, whole } from "../options.ts";
import { MAX_STREAMS, PEERS } from "./catalog.ts";

export const HELP = `Measures this server beside what a user would pick instead, on the same work.

  deno task bench:peers [options]

  --only A,B         only these servers: ${PEERS.map((peer) => peer.name).join(", ")}
  --jobs A,B         paced, unpaced (both)
  --rounds N         rounds, the order reversed in every second one (5)
  --streams A,B      streams of the paced job; several numbers make a sweep (1000)
  --itl MS           time between the tokens of a paced stream (20)
  --total-rate N     tokens per second of all its streams together, which sets --itl: a sweep over --streams then
                     shares the same work among more or fewer streams
  --seconds N        length of the paced window (10)
  --readers N        readers of the unpaced job (32)
  --tokens N         tokens of an unpaced stream (500)
  --unpaced-seconds N  length of the unpaced window (4)
  --transport NAME   how the generator reads: auto, epoll, sockets (auto)
  --json FILE        the results for machines (metrics/peers.json)
  --url URL          measure the server that already runs there (http://127.0.0.1:PORT only), and no other
  --pid PID          its process, for CPU and memory
  --help             this text
`;

const names = PEERS.map((peer) => peer.name);
const list = (text: string) => text.split(",").map((item) => item.trim()).filter((item) => item !== "");
const listOf = <T>(item: z.ZodType<T, string>, wanted: string) =>
  z.string().transform(list).pipe(z.array(item).min(1, wanted));
const counts = `whole numbers from 1 to ${MAX_STREAMS}, separated by commas`;

const Options = z.object({
  only: listOf(z.enum(names, { error: `names out of ${names.join(", ")}` }), "a name").optional(),
  jobs: listOf(z.enum(["paced", "unpaced"], { error: "paced, unpaced" }), "a job").default([
    "paced",
    "unpaced",
  ]),
  rounds: whole(1, 100).default(5),
  streams: listOf(whole(1, MAX_STREAMS), counts).default([1000]),
  itl: number(0.1, 10_000).optional(),
  "total-rate": number(1, 1_000_000).optional(),
  seconds: number(0.5, 3600).default(10),
  readers: whole(1, MAX_STREAMS).default(32),
  tokens: whole(1, 8000).default(500),
  "unpaced-seconds": number(0.5, 3600).default(4),
  transport: z.enum(["auto", "epoll", "sockets"], { error: "auto, epoll or sockets" }).default("auto"),
  json: z.string().min(1, "a file").default("metrics/peers.json"),
  // Load goes to this machine only, and to the paths that are measured.
  url: z.string().regex(
    /^http:\/\/(127\.0\.0\.1|localhost)(:\d+)?\/?$/,
    "http://127.0.0.1:PORT and nothing after it",
  ).refine(URL.canParse, "a port from 0 to 65535").transform((url) => new URL(url)).optional(),
  pid: whole(1, 2 ** 31).optional(),
});

/** Of `itl` and `total-rate` exactly one is there. */
export type Options = z.infer<typeof Options> & { only: string[] };

/** @throws {UsageError} for an unknown option, a value that cannot be used, or one that another makes void */
export function parseOptions(args: string[]): Options | "help" {
  const options = readOptions(Options, args);
  if (options === "help") return "help";
  const { pid, url, only, itl, "total-rate": totalRate } = options;
  if (pid !== undefined && url === undefined) {
    throw new UsageError(`--pid: wanted --url with it, the server whose process it is, got ${pid} alone`);
  }
  if (url !== undefined && only !== undefined) {
    throw new UsageError(`--only: wanted no --url with it, which measures that server alone, got ${url}`);
  }
  if (totalRate !== undefined && itl !== undefined) {
    throw new UsageError(`--itl: wanted no --total-rate with it, which sets it, got ${totalRate}`);
  }
  return {
    ...options,
    only: only ?? (url === undefined ? names : []),
    itl: itl ?? (totalRate === undefined ? 20 : undefined),
  };
}
