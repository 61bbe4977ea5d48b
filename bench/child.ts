import { atSignal } from "./at_signal.ts";

/** Starts a process that a signal which ends this one ends too, at once: none of ours has anything to save. */
export function startChild(command: string, options: Deno.CommandOptions): Deno.ChildProcess {
  const child = new Deno.Command(command, options).spawn();
  const forget = atSignal(() => child.kill("SIGKILL"));
  child.status.then(forget);
  return child;
}

/** Runs such a process to its end, for what it printed. */
export function runChild(command: string, options: Deno.CommandOptions): Promise<Deno.CommandOutput> {
  return startChild(command, { ...options, stdin: "null", stdout: "piped", stderr: "piped" }).output();
}
