/** `deno run -A tests/laws/main.ts`: prints what breaks a law of the house, and exits with 1 if anything does. */
import { judge } from "./all.ts";

const broken = Object.entries(judge(new URL("../../", import.meta.url))).filter(([, faults]) =>
  faults.length > 0
);
for (const [law, faults] of broken) {
  console.error(`law broken: ${law}\n${faults.map((each) => `  ${each}`).join("\n")}`);
}
if (broken.length > 0) Deno.exit(1);
