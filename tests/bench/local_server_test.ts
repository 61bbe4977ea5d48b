import { assert, assertEquals, assertRejects } from "@std/assert";
import { startServer } from "../../bench/local_server.ts";

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
