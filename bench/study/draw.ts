import type { Picture } from "../charts/picture.ts";
import { startChild } from "../child.ts";

const PROGRAM = new URL("../charts/draw.ts", import.meta.url);
const CONFIG = new URL("../charts/deno.json", import.meta.url);

/**
 * Draws a picture as SVG, in a process of its own: the charting library has a lock of its own, so that nothing but a
 * picture ever fetches it.
 *
 * @throws {Error} with the last line the drawing program said, when it fails
 */
export async function drawSvg(picture: Picture): Promise<string> {
  const child = startChild(Deno.execPath(), {
    args: ["run", "--quiet", "--config", CONFIG.pathname, "--allow-env=NODE_ENV", PROGRAM.href],
    env: { NODE_ENV: "production" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(picture)));
  await writer.close();
  const { success, stdout, stderr } = await output;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (!success) throw new Error(`the picture could not be drawn: ${text(stderr).split("\n")[0]}`);
  return text(stdout) + "\n";
}
