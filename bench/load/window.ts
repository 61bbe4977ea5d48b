import process from "node:process";
import { readBusyUs, readUsage, type Usage } from "./usage.ts";

/** What was used between the beginning of the measured window and its end. */
export interface WindowCost {
  seconds: number;
  serverCpuUs: number | null;
  serverCpuShare: number | null;
  /** At the window's end. */
  serverResidentBytes: number | null;
  generatorCpuShare: number;
  otherCpuShare: number | null;
}

/** Marks the beginning of the window; the function returned marks its end. */
export function openWindow(pid: number | undefined): () => WindowCost {
  const usage = (): Usage | null => pid === undefined ? null : readUsage(pid);
  const busy = readBusyUs();
  const server = usage();
  const own = process.cpuUsage();
  const start = performance.now();
  return () => {
    const elapsedUs = (performance.now() - start) * 1000;
    const spent = process.cpuUsage(own);
    const after = usage();
    const busyAfter = readBusyUs();
    const serverCpuUs = server && after ? after.cpuUs - server.cpuUs : null;
    const ownCpuUs = spent.user + spent.system;
    const known = busy !== null && busyAfter !== null && serverCpuUs !== null;
    return {
      seconds: elapsedUs / 1e6,
      serverCpuUs,
      serverCpuShare: serverCpuUs === null ? null : serverCpuUs / elapsedUs,
      serverResidentBytes: after?.residentBytes ?? null,
      generatorCpuShare: ownCpuUs / elapsedUs,
      otherCpuShare: known ? Math.max(0, busyAfter - busy - serverCpuUs - ownCpuUs) / elapsedUs : null,
    };
  };
}
