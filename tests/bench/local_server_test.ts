import { assert, assertEquals, assertGreater, assertRejects, assertThrows } from "@std/assert";
import { startServer } from "../../bench/local_server.ts";

Deno.test("a tool that is told to end takes the server it has started with it", async () => {
  const module = new URL("../../bench/local_server.ts", import.meta.url).href;
  const code = `const { startServer } = await import("${module}"); console.log((await startServer()).pid);`;
  for (const [signal, exitCode] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    const tool = new Deno.Command(Deno.execPath(), {
      args: ["eval", code],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const output = tool.stdout.getReader();
    const pid = Number(new TextDecoder().decode((await output.read()).value));
    assertGreater(pid, 0);
    tool.kill(signal);
    assertEquals((await tool.status).code, exitCode);
    await output.cancel();
    // Does nothing to a process that runs.
    assertThrows(() => Deno.kill(pid, "SIGCONT"), Deno.errors.NotFound);
  }
});

Deno.test("a server of our own is found by the address it prints, and stopped after", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const entry = new URL(`file://${dir}/server.ts`);
    await Deno.writeTextFile(
      entry,
      'console.error("Download https://127.0.0.1/hono");\n' +
        'const onListen = ({ port }) => console.log("Tokentap listens on http://127.0.0.1:" + port + " (engine x)");\n' +
        'Deno.serve({ port: 0, hostname: "127.0.0.1", onListen }, () => new Response(Deno.args.join(" ")));',
    );
    let url: string;
    {
      await using server = await startServer(["--seed", "7"], entry);
      url = server.url;
      assertEquals(await (await fetch(url)).text(), "--port 0 --seed 7");
    }
    await assertRejects(() => fetch(url));
    await Deno.writeTextFile(entry, 'console.error("bad port"); Deno.exit(2);');
    const error = await assertRejects(() => startServer([], entry), Error);
    assert(error.message.includes("code 2") && error.message.endsWith("bad port"), error.message);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
