import { serveFlags } from "../../bench/serve_launcher.ts";
import { until } from "./until.ts";

export interface SpawnedService extends AsyncDisposable {
  url: string;
  port: number;
  pid: number;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  status: Promise<Deno.CommandStatus>;
  kill(signal: Deno.Signal): void;
}

const MAIN = new URL("../../main.ts", import.meta.url).href;

/** `main.ts` with these flags, for what ends by itself: its exit code and all it wrote. */
export async function runMain(
  ...flags: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await (await command(flags)).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** The service in a process of its own, on a free port. Leaving the scope kills it. */
export function spawnService(...flags: string[]): Promise<SpawnedService> {
  return spawnServiceIn({}, ...flags);
}

/** The same with more in its environment. */
export async function spawnServiceIn(
  env: Record<string, string>,
  ...flags: string[]
): Promise<SpawnedService> {
  const child = (await command(["--port", "0", ...flags], env)).spawn();
  let ended = false;
  const written = { stdout: "", stderr: "" };
  const read = async (name: "stdout" | "stderr") => {
    const decoder = new TextDecoder();
    for await (const bytes of child[name]) written[name] += decoder.decode(bytes, { stream: true });
  };
  const reading = Promise.all([read("stdout"), read("stderr")]);
  const status = child.status.finally(() => ended = true);
  const dispose = async () => {
    if (!ended) child.kill("SIGKILL");
    await status;
    await reading;
  };
  try {
    const url = await until(
      "the line with the address of the service",
      () => /(?:listens on |"url":")([^\s"]+)/.exec(written.stdout)?.[1] ?? (ended && raise(written.stderr)),
      { withinMs: 20_000 },
    );
    return {
      url,
      port: Number(new URL(url).port),
      pid: child.pid,
      stdout: () => written.stdout,
      stderr: () => written.stderr,
      status,
      kill: (signal) => child.kill(signal),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Started as `deno task serve` does it: with its permissions and its heap. */
async function command(flags: string[], env: Record<string, string> = {}): Promise<Deno.Command> {
  return new Deno.Command(Deno.execPath(), {
    args: [...await serveFlags(), MAIN, ...flags],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

function raise(stderr: string): never {
  throw new Error(`the service did not start: ${stderr}`);
}

/** Memory of a process that is in RAM, in megabytes. Linux only. */
export async function residentMb(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}
