/**
 * The load generator's process: takes one job as JSON in its argument, prints the result as JSON.
 * A process of its own, so that its CPU is its own and nothing but reading runs on its thread.
 */
import { Job, type Result } from "./job.ts";
import { runPaced } from "./paced.ts";
import { createTransport } from "./transport.ts";
import { runUnpaced } from "./unpaced.ts";

/** Streams of the paced warm-up. */
const WARM_STREAMS = 50;

/** Rest after the warm-up: its connections are gone and the server has settled, ms. */
const REST_MS = 300;

async function run(job: Job): Promise<Result> {
  const transport = createTransport(job.transport);
  try {
    return job.kind === "paced" ? await runPaced(job, transport) : await runUnpaced(job, transport);
  } finally {
    transport.close();
  }
}

/**
 * A short run of the same kind, so that both sides have compiled what they will use. The paced one is few
 * streams ten times as fast: enough tokens to compile the path, and few enough streams that the memory
 * read before the real ones does not already contain them.
 */
function warmUp(job: Job): Job {
  return job.kind === "paced"
    ? { ...job, streams: WARM_STREAMS, itlMs: job.itlMs / 10, seconds: 1.5, spreadMs: 200, settleMs: 300 }
    : { ...job, seconds: 0.5, settleMs: 200 };
}

const job = Job.parse(JSON.parse(Deno.args[0]));
await run(warmUp(job));
await new Promise((resolve) => setTimeout(resolve, REST_MS));
console.log(JSON.stringify(await run(job)));
