import { runChild } from "../child.ts";
import { Job, Result } from "./job.ts";

const WORKER = new URL("./worker.ts", import.meta.url).pathname;

/** Runs one job in a generator process of its own; throws with its stderr if it fails. */
export async function runJob(job: Job): Promise<Result> {
  // All permissions, because Deno asks for them to read /proc.
  const output = await runChild(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", WORKER, JSON.stringify(Job.parse(job))],
  });
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (!output.success) {
    throw new Error(`the load generator exited with ${output.code}: ${text(output.stderr).slice(-500)}`);
  }
  return Result.parse(JSON.parse(text(output.stdout)));
}

/** Throws when fewer file descriptors are allowed than `sockets` needs, on systems that tell. */
export async function requireDescriptors(sockets: number): Promise<void> {
  const limits = await Deno.readTextFile("/proc/self/limits").catch(() => "");
  const allowed = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  // Beside the sockets: libraries, pipes and what the runtime keeps open.
  const wanted = sockets + 100;
  if (allowed < wanted) {
    throw new Error(
      `wanted ${wanted} file descriptors for ${sockets} streams, the limit is ${allowed}: ulimit -n ${wanted}`,
    );
  }
}
