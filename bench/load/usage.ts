/** CPU and memory of a process and all its descendants, from /proc. Only Linux has it: elsewhere null. */
export interface Usage {
  /** User + system time of all threads, µs. */
  cpuUs: number;
  /** Resident memory, bytes. */
  residentBytes: number;
}

/** USER_HZ, the unit of the times in /proc/PID/stat: 100 on every Linux that Deno supports. */
const TICKS_PER_SECOND = 100;

/** Reads the usage of `pid` and its descendants; null where /proc is missing or the process is gone. */
export function readUsage(pid: number): Usage | null {
  try {
    const usage = { cpuUs: 0, residentBytes: 0 };
    for (const member of processTree(pid)) addProcess(member, usage);
    return usage;
  } catch {
    return null;
  }
}

/** CPU time used by all processes of the machine since it started, µs; null where /proc is missing. */
export function readBusyUs(): number | null {
  try {
    const [, user, nice, system, , , irq, softirq, steal] = Deno.readTextFileSync("/proc/stat").split(/\s+/);
    const ticks = [user, nice, system, irq, softirq, steal].reduce((sum, field) => sum + Number(field), 0);
    return ticks / TICKS_PER_SECOND * 1e6;
  } catch {
    return null;
  }
}

function addProcess(pid: number, usage: Usage): void {
  const fields = statFields(pid);
  // Fields of proc(5) counted after the command name: utime and stime of live threads and of those that
  // have ended, then the same of children already waited for.
  const ticks = Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
  const coarse = ticks / TICKS_PER_SECOND * 1e6;
  usage.cpuUs += preciseCpuUs(pid, coarse);
  // In kB there, whatever the page size.
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
  usage.residentBytes += Number(resident?.[1] ?? 0) * 1024;
}

/**
 * Scheduler time has nanoseconds where stat has ticks of 10 ms, which matters for a few streams; but it
 * forgets threads that have ended, so it counts only while it agrees with stat to a few ticks.
 */
function preciseCpuUs(pid: number, coarse: number): number {
  try {
    let nanoseconds = 0;
    for (const task of Deno.readDirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(Deno.readTextFileSync(`/proc/${pid}/task/${task.name}/schedstat`).split(" ")[0]);
    }
    const precise = nanoseconds / 1000;
    return Math.abs(precise - coarse) <= 30_000 ? precise : coarse;
  } catch {
    return coarse;
  }
}

function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of Deno.readDirSync("/proc")) {
    const pid = Number(entry.name);
    if (!Number.isInteger(pid)) continue;
    try {
      parents.set(pid, Number(statFields(pid)[1]));
    } catch {
      // It ended between the listing and the read.
    }
  }
  const tree = [root];
  for (const member of tree) {
    for (const [pid, parent] of parents) if (parent === member) tree.push(pid);
  }
  return tree;
}

/** The fields after the command name, which itself may hold spaces and brackets. */
function statFields(pid: number): string[] {
  const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
