/**
 * The text with every comment and the inside of every string, template and regular expression replaced by spaces.
 * Offsets and lines stay, so that a word found here is code, and what stood in a string is at the same place in the text.
 */
export function blank(text: string): string {
  const out = text.split("");
  const hide = (from: number, to: number) => {
    for (let at = from; at < to; at++) if (out[at] !== "\n") out[at] = " ";
  };
  // Depth of braces at which each open `${` of a template ends.
  const templates: number[] = [];
  let depth = 0;
  let at = 0;

  const template = (from: number): number => {
    let end = from;
    while (end < text.length && text[end] !== "`" && !text.startsWith("${", end)) {
      end += text[end] === "\\" ? 2 : 1;
    }
    hide(from, Math.min(end, text.length));
    if (!text.startsWith("${", end)) return end + 1;
    templates.push(depth);
    return end + 2;
  };

  while (at < text.length) {
    const char = text[at];
    if (text.startsWith("//", at)) {
      const end = find(text, "\n", at);
      hide(at, end);
      at = end;
    } else if (text.startsWith("/*", at)) {
      const end = Math.min(find(text, "*/", at + 2) + 2, text.length);
      hide(at, end);
      at = end;
    } else if (char === '"' || char === "'") {
      const end = closing(text, at);
      hide(at + 1, end);
      at = end + 1;
    } else if (char === "`") {
      at = template(at + 1);
    } else if (char === "}" && templates.at(-1) === depth) {
      templates.pop();
      at = template(at + 1);
    } else if (char === "/" && beginsRegExp(out, at)) {
      const end = regExpEnd(text, at);
      hide(at + 1, end);
      at = end + 1;
    } else {
      if (char === "{") depth++;
      if (char === "}") depth--;
      at++;
    }
  }
  return out.join("");
}

function find(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from);
  return at < 0 ? text.length : at;
}

/** The offset of the quote that closes the one at `open`; the line's end when there is none. */
export function closing(text: string, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== text[open] && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
  return Math.min(at, text.length);
}

function regExpEnd(text: string, open: number): number {
  let inClass = false;
  let at = open + 1;
  while (at < text.length && text[at] !== "\n" && (inClass || text[at] !== "/")) {
    if (text[at] === "[") inClass = true;
    if (text[at] === "]") inClass = false;
    at += text[at] === "\\" ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/** A slash after a value divides; after an operator, an opening bracket or a keyword it begins a pattern. */
function beginsRegExp(out: string[], at: number): boolean {
  const before = out.slice(Math.max(0, at - 40), at).join("").trimEnd();
  if (before === "") return true;
  if (/(?<![\w$.])(return|typeof|case|in|of|do|else|void|yield|await|throw|new|delete)$/.test(before)) {
    return true;
  }
  return !/[\w$)\]}"'`]$/.test(before);
}
