/** What the figures were measured on, written beside them. */
export interface Machine {
  os: string;
  arch: string;
  cores: number;
  deno: string;
  cpu: string | null;
  /** One-minute load average before the first run: above 0.5, something else is running. */
  loadAverage: string;
}

/** Reads it; what the system does not tell is null or "n/a". */
export async function machine(): Promise<Machine> {
  const cpuinfo = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const load = await Deno.readTextFile("/proc/loadavg").catch(() => "n/a");
  return {
    os: Deno.build.os,
    arch: Deno.build.arch,
    cores: navigator.hardwareConcurrency,
    deno: Deno.version.deno,
    cpu: /^model name\s*: (.*)$/m.exec(cpuinfo)?.[1] ?? null,
    loadAverage: load.split(" ")[0],
  };
}
