import { startServer } from "../local_server.ts";
import { type Run, run, type RunOptions } from "./run.ts";

export interface ServeOptions extends Pick<RunOptions, "schedule" | "seconds" | "atEnd"> {
  slots: number;
  /** The simulated engine's, in milliseconds. */
  model: { timeToFirstTokenMs: number; interTokenLatencyMs: number };
  /** Further settings of the server, as on its command line. */
  flags?: readonly string[];
  /** Called with how far the run is, in words. */
  progress: (text: string) => void;
}

/** A run against a server of its own, so that no run inherits another's heap or records. */
export async function serveAndRun(
  { slots, model, flags = [], progress, ...options }: ServeOptions,
): Promise<Run> {
  await using server = await startServer([
    ...["--max-num-seqs", `${slots}`, "--log-format", "text"],
    ...["--time-to-first-token", `${model.timeToFirstTokenMs}ms`],
    ...["--inter-token-latency", `${model.interTokenLatencyMs}ms`],
    ...flags,
  ]);
  return await run({
    server,
    ...options,
    onSample: ({ atMs, queue }) => progress(`${(atMs / 1000).toFixed(1)} s, ${queue} wait`),
  });
}
