export interface Page {
  title: string;
  svg: string;
  /** The first row is the head. */
  table: readonly (readonly string[])[];
  /** What the figures mean and how they came about, a paragraph each. */
  notes: readonly string[];
}

const STYLE = `:root { color-scheme: light; }
body { margin: 0 auto; max-width: 1060px; padding: 16px; background: #fff; color: #222; font: 15px/1.5 system-ui, sans-serif; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; margin: 16px 0; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px 4px 0; border-bottom: 1px solid #ddd; text-align: right; font-weight: normal; }
th { border-bottom: 2px solid #777; font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
p { max-width: 80ch; }
@media print { body { padding: 0; } svg, table { break-inside: avoid; } }`;

/** A page that needs nothing but itself: the picture, the table and the notes. */
export function htmlPage({ title, svg, table, notes }: Page): string {
  const [head, ...rows] = table;
  const row = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>
${STYLE}
</style>
</head>
<body>
<figure role="img" aria-label="${escaped(title)}" style="margin:0">
${svg.trimEnd()}
</figure>
<table>
<thead>${row(head, "th")}</thead>
<tbody>
${rows.map((cells) => row(cells, "td")).join("\n")}
</tbody>
</table>
${notes.map((note) => `<p>${escaped(note)}</p>`).join("\n")}
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
