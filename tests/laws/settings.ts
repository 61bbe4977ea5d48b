import type { SettingRow } from "../../lib/config.ts";

/** What the README's table shows of a setting. */
export type Shown = Pick<SettingRow, "flag" | "env" | "default" | "about">;

/**
 * The README's settings table says what the schema says: for each setting the row flag, variable, default, purpose, and
 * no row for anything else. A complaint holds the row as it should be.
 */
export function settings(readme: string, wanted: Shown[]): string[] {
  const rows = readme.split("\n").map(cells).filter(([flag]) => /^--[a-z]/.test(flag ?? ""));
  const wrong = wanted.flatMap((setting) => {
    const mine = rows.filter(([flag]) => flag === setting.flag);
    const right = [setting.flag, setting.env, setting.default, setting.about].map(unquoted);
    return mine.length === 1 && mine[0].join("|") === right.join("|")
      ? []
      : [`README.md: wanted one row ${written(setting)}`];
  });
  const unknown = rows.filter(([flag]) => !wanted.some((each) => each.flag === flag));
  return [...wrong, ...unknown.map(([flag]) => `README.md: has a row for ${flag}, which is no setting`)];
}

function written({ flag, env, default: fallback, about }: Shown): string {
  return `| \`${flag}\` | \`${env}\` | \`${fallback}\` | ${about} |`;
}

/** The cells of a table row without backticks; nothing for any other line. */
function cells(line: string): string[] {
  return line.startsWith("|") ? line.split("|").slice(1, -1).map(unquoted) : [];
}

function unquoted(cell: string): string {
  return cell.replaceAll("`", "").trim();
}
