import { assert, assertEquals } from "@std/assert";
import { startServer } from "../bench/local_server.ts";

interface Example {
  command: string;
  output: string;
}

/** The commands of the `console` blocks, each with the lines shown below it. */
function examples(markdown: string): Example[] {
  return [...markdown.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block]) =>
    block.split(/^\$ /m).slice(1).map((part) => {
      const end = part.indexOf("\n");
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    })
  );
}

/** What differs from run to run: ids, times, and how many tokens were made before a reader left. */
function normal(output: string): string {
  return output
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replace(/"created":\d+/g, '"created":T')
    .replace(/"(\w+_ms)":[\d.]+/g, '"$1":MS')
    .replace(/"(generated|delivered|completion_tokens)":[5-9],/g, '"$1":FEW,')
    .replace(/"aborted":[5-9],/g, '"aborted":FEW,')
    .replace(/("total_generated"|"total"):1\d/g, "$1:SUM");
}

Deno.test("every command in the README prints what the README shows", async () => {
  const markdown = await Deno.readTextFile(new URL("../README.md", import.meta.url));
  const shown = examples(markdown);
  assert(shown.length >= 8, `wanted the examples, found ${shown.length}`);
  await using server = await startServer();
  const here = new URL(server.url).host;
  for (const { command, output } of shown) {
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", command.replaceAll("127.0.0.1:8170", here)],
      stdin: "null",
    }).output();
    assertEquals(normal(new TextDecoder().decode(stdout)).trimEnd(), normal(output).trimEnd(), command);
  }
});
