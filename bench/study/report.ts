import { fileNames, type Findings, writeFiles } from "./files.ts";

export interface Report {
  /** Of the study: of its files, and before its complaints. */
  name: string;
  /** Null when nothing was measured: the files of an earlier run are worth more. */
  findings: Findings | null;
  /** Why the findings cannot be believed; none when all is well. */
  faults: readonly string[];
  /** The folder of the files. */
  out: string;
  /** Print the findings as JSON. */
  json: boolean;
}

/**
 * Writes what a study found, prints it with the files' paths, and gives the exit code: 1 when there are faults, or
 * nothing was found.
 */
export async function report({ name, findings, faults, out, json }: Report): Promise<number> {
  if (findings !== null) {
    const text = await writeFiles(out, name, findings);
    console.log(
      json
        ? JSON.stringify(findings.json)
        : `${text}\n${fileNames(name).map((file) => `${out}/${file}`).join("\n")}`,
    );
  }
  const complaints = findings === null ? [...faults, `nothing was measured; ${out} is as it was`] : faults;
  for (const complaint of complaints) console.error(`${name}: ${complaint}`);
  return complaints.length > 0 ? 1 : 0;
}
