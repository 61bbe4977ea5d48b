import { blank, closing } from "./blank.ts";

/** One module that a file names. */
export interface Import {
  specifier: string;
  /** Names taken from it; `*` stands for all of them. */
  names: string[];
  /** `import` binds it, `export` hands it on, `path` only names a file: to be run apart, as a worker or process. */
  kind: "import" | "export" | "path";
}

/** One name that a file offers. */
export interface Export {
  name: string;
  /** An interface or type: nothing of it is left at run time. */
  type: boolean;
}

const FROM = /(?<![\w$.])import\s+(?:type\s+)?([\w$\s,{}*]*?)\s*\bfrom\s*(?=["'])/g;
const HANDED_ON = /(?<![\w$.])export\s+(?:type\s+)?(\*(?:\s*as\s+[\w$]+)?|\{[^}]*\})\s*from\s*(?=["'])/g;
const BARE = /(?<![\w$.])import\s*(?=["'])/g;
const DYNAMIC = /(?<![\w$.])import\s*\(\s*(?=["'])/g;
const NAMED = /(["'])(\.{1,2}\/[^"'\n]+\.tsx?)\1/g;

/** Every module or file that a text names, in the order of the forms above. */
export function importsOf(text: string): Import[] {
  const code = blank(text);
  const found: Import[] = [];
  const collect = (form: RegExp, kind: Import["kind"], names: (clause: string) => string[]) => {
    for (const match of code.matchAll(form)) {
      const open = match.index + match[0].length;
      found.push({
        specifier: text.slice(open + 1, closing(text, open)),
        names: names(match[1] ?? ""),
        kind,
      });
    }
  };
  collect(FROM, "import", namesOf);
  collect(HANDED_ON, "export", namesOf);
  collect(BARE, "import", () => []);
  collect(DYNAMIC, "import", () => ["*"]);
  for (const { index, 2: specifier } of text.matchAll(NAMED)) {
    // A quote that is blank stands in a comment or in another string.
    if (code[index] === " " || found.some((each) => each.specifier === specifier)) continue;
    found.push({ specifier, names: [], kind: "path" });
  }
  return found;
}

/** `a, { b as c, type D }` → `default`, `b`, `D`: the names as the imported module knows them. */
function namesOf(clause: string): string[] {
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? "";
  const names = braces.split(",").map((part) => part.trim().replace(/^type\s+/, "").split(/\s+as\s+/)[0]);
  const outside = clause.replace(/\{[^}]*\}/, "");
  if (outside.includes("*")) names.push("*");
  if (/^\s*[\w$]+/.test(outside)) names.push("default");
  return names.filter((name) => name !== "");
}

const DECLARED =
  /(?<![\w$.])export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(function\s*\*?|class|const\s+enum|const|let|var|enum|interface|type|namespace)\s*(?<=\s|\*)([\w$]+)/g;
const LISTED = /(?<![\w$.])export\s+(type\s+)?\{([^}]*)\}(?!\s*from)/g;
const DESTRUCTURED = /(?<![\w$.])export\s+(?:const|let|var)\s*[{[]([^=]*)[}\]]\s*=/g;

/** Every name that a text exports of its own; what it only hands on is an import of kind `export`. */
export function exportsOf(text: string): Export[] {
  const code = blank(text);
  const found: Export[] = [];
  for (const [, keyword, name] of code.matchAll(DECLARED)) {
    if (!found.some((other) => other.name === name)) {
      found.push({ name, type: keyword === "interface" || keyword === "type" });
    }
  }
  for (const [, type, list] of code.matchAll(LISTED)) {
    for (const part of list.split(",").map((each) => each.trim()).filter((each) => each !== "")) {
      const name = part.replace(/^type\s+/, "").split(/\s+as\s+/).at(-1) ?? part;
      found.push({ name, type: type !== undefined || part.startsWith("type ") });
    }
  }
  for (const [, list] of code.matchAll(DESTRUCTURED)) {
    for (const part of list.split(",").map((each) => each.trim()).filter((each) => each !== "")) {
      found.push({ name: part.split(":").at(-1)!.trim(), type: false });
    }
  }
  if (/(?<![\w$.])export\s+default\b/.test(code)) found.push({ name: "default", type: false });
  return found;
}

/** A relative specifier as a path from the root; undefined for a package. */
export function resolve(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
