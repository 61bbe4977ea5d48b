import { assertEquals, assertStringIncludes } from "@std/assert";

Deno.test({
  name:
    "what bench:pacing, bench:peers and bench:upstream have found is in their file also when nothing can be printed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const out = await Deno.makeTempFile();
    try {
      for (
        const [tool, args] of [
          ["pacing", "--streams 2 --tokens 10 --out"],
          ["peers", "--only tokentap --jobs paced --streams 2 --seconds 0.5 --rounds 1 --json"],
          ["upstream", "--streams 2 --seconds 0.5 --rounds 1 --out"],
        ]
      ) {
        await Deno.writeTextFile(out, "null");
        const script = new URL(`../../bench/${tool}.ts`, import.meta.url).pathname;
        const { code, stderr } = await new Deno.Command("sh", {
          args: ["-c", `"$0" run -A "$1" ${args} "$2" >/dev/full`, Deno.execPath(), script, out],
          env: { NO_COLOR: "1" },
        }).output();
        const complaint = new TextDecoder().decode(stderr);
        assertEquals([code, complaint.split("\n").length], [1, 2], complaint);
        assertStringIncludes(complaint, "No space left on device");
        assertEquals(typeof JSON.parse(await Deno.readTextFile(out)), "object");
        assertStringIncludes(await Deno.readTextFile(out), "p99");
      }
    } finally {
      await Deno.remove(out);
    }
  },
});
