import { filesOf, type Findings, writeFiles } from "./files.ts";

export interface Report {
  /** Of the study: of its files, and before its complaints. */
  name: string;
  findings: Findings;
  /** Why the findings cannot be believed; none when all is well. */
  faults: readonly string[];
  /** The folder of the files. */
  out: string;
  /** Print the findings as JSON. */
  json: boolean;
}

/** Writes what a study found, prints it with the files' paths, and gives the exit code: 1 when there are faults. */
export async function report({ name, findings, faults, out, json }: Report): Promise<number> {
  const text = await writeFiles(out, name, findings);
  console.log(json ? JSON.stringify(findings.json) : `${text}\n${filesOf(out, name).join("\n")}`);
  for (const fault of faults) console.error(`${name}: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}
