import { blank } from "./blank.ts";
import { importsOf } from "./scan.ts";
import { isTest, type Source } from "./source.ts";

/** Lines; 200 as a rule, and a little air for a file that stays one thing. */
const MAX_LINES = 250;

/** A file is short enough to be read at once. */
export function length(sources: Source[]): string[] {
  return sources.filter(({ path }) => !isTest(path)).flatMap(({ path, text }) => {
    const lines = text.trimEnd().split("\n").length;
    return lines > MAX_LINES ? [`${path}: has ${lines} lines; wanted at most ${MAX_LINES}`] : [];
  });
}

const IMPORT_OR_EXPORT = [
  /(?<![\w$.])(?:import|export)\s+(?:type\s+)?[\w$\s,{}*]*?\bfrom\s*["'][^"']*["']/g,
  /(?<![\w$.])import\s*["'][^"']*["']/g,
  /(?<![\w$.])export\s+(?:type\s+)?\{[^}]*\}/g,
];

/** No file that does nothing but hand on what others export: one imports a thing from where it is. */
export function barrels(sources: Source[]): string[] {
  return sources.filter(({ path }) => !isTest(path)).flatMap(({ path, text }) => {
    const handsOn = importsOf(text).some(({ kind }) => kind === "export") ||
      /\bexport\s*\{/.test(blank(text));
    const rest = IMPORT_OR_EXPORT.reduce((code, form) => code.replaceAll(form, ""), blank(text));
    return handsOn && /^[\s;]*$/.test(rest) ? [`${path}: only hands on what other files export`] : [];
  });
}
