import type { Picture } from "../charts/picture.ts";
import { writeAll } from "../results.ts";
import { textTable } from "../table.ts";
import { drawSvg } from "./draw.ts";
import { htmlPage } from "./page.ts";

/** What a study found, in the forms it is written in. */
export interface Findings {
  picture: Picture;
  /** The first row is the head. */
  table: string[][];
  notes: string[];
  /** For programs. */
  json: unknown;
}

const ENDINGS = ["txt", "json", "svg", "html"] as const;

/** Writes them to `out` as `name`.txt, .json, .svg and .html; gives the text. */
export async function writeFiles(out: string, name: string, findings: Findings): Promise<string> {
  const { picture, table, notes, json } = findings;
  const text = [picture.title, picture.subtitle, "", textTable(table), "", ...notes].join("\n") + "\n";
  const svg = await drawSvg(picture);
  const contents = {
    txt: text,
    json: JSON.stringify(json, null, 2) + "\n",
    svg,
    html: htmlPage({ title: picture.title, svg, table, notes }),
  };
  await writeAll(Object.fromEntries(ENDINGS.map((ending) => [`${out}/${name}.${ending}`, contents[ending]])));
  return text;
}

/** The names of the files that are written. */
export function fileNames(name: string): string[] {
  return ENDINGS.map((ending) => `${name}.${ending}`);
}
