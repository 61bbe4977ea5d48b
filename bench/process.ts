import { createServer } from "node:net";
import { runChild, startChild } from "./child.ts";

/** A server in a process of its own. */
export interface Running {
  port: number;
  /** Absent when CPU and memory are not to be read. */
  pid?: number;
  /** Ends the process and waits until it is gone. */
  stop(): Promise<void>;
}

interface Launch {
  command: string;
  args: string[];
  cwd?: string;
  env?: Record<string, string>;
}

/** How a server is started on a port. */
export type Launcher = (port: number) => Launch;

const READY_MS = 20_000;
const STOP_MS = 3_000;

/** Starts a server on a free port and waits until /health answers 200. Throws with its stderr if it does not. */
export async function start(name: string, launcher: Launcher): Promise<Running> {
  const port = await freePort();
  const { command, args, cwd, env } = launcher(port);
  const child = startChild(command, {
    args,
    cwd,
    env,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  });
  const log = tail(child.stderr);
  let exited = false;
  child.status.then(() => exited = true);
  const stop = async () => {
    if (!exited) child.kill("SIGTERM");
    const timer = setTimeout(() => !exited && child.kill("SIGKILL"), STOP_MS);
    await child.status;
    clearTimeout(timer);
    await log.ended;
  };
  const deadline = Date.now() + READY_MS;
  while (!exited && Date.now() < deadline) {
    if (await healthy(port)) return { port, pid: child.pid, stop };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const how = exited ? "it exited" : `no answer in ${READY_MS / 1000} s`;
  await stop();
  throw new Error(
    `${name}: wanted 200 from /health, but ${how}. ${log.text().trim()}`,
  );
}

/** Runs a command to its end; throws with its output unless it exits with 0. */
export async function runToEnd(
  command: string,
  args: string[],
  options: Deno.CommandOptions = {},
): Promise<string> {
  const output = await runChild(command, { ...options, args });
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (output.success) return text(output.stdout);
  const why = text(output.stderr) || text(output.stdout);
  throw new Error(
    `${command} ${args.join(" ")} exited with ${output.code}: ${why.slice(-500)}`,
  );
}

async function healthy(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health`, {
      signal: AbortSignal.timeout(1000),
    });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port"))
      );
    });
  });
}

/** Keeps reading, or a server that logs would block on a full pipe; remembers the end only. */
function tail(stream: ReadableStream<Uint8Array>) {
  let text = "";
  const decoder = new TextDecoder();
  const ended = (async () => {
    for await (const chunk of stream) {
      text = (text + decoder.decode(chunk, { stream: true })).slice(-2000);
    }
  })();
  return { ended, text: () => text };
}
