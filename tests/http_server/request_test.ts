import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { Refusal } from "../../lib/http/server/own_answer.ts";
import { parseRequestHead } from "../../lib/http/server/request_head.ts";
import { dateless, serving, settle, statuses } from "./serving.ts";

/** Answers with what it was asked. */
async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  return Response.json([request.method, pathname + search, request.headers.get("x-a"), await request.text()]);
}

async function answerTo(text: string) {
  const { socket, connection, ended, errors } = serving(echo);
  socket.send(text);
  await settle();
  const result = { statuses: statuses(socket), text: socket.text, shut: socket.shut || socket.closed };
  connection.drain();
  socket.leave();
  await ended;
  return { ...result, errors, closed: socket.closed };
}

const HOST = "Host: a\r\n";
const POST = `POST / HTTP/1.1\r\n${HOST}`;
const DATE = /\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/;
const long = (size: number) => "a".repeat(size);

/** Heads and bodies that no handler may see, each with the status it is answered with. */
const REFUSED: Record<string, [status: number, text: string]> = {
  "a bare LF after the request line": [400, `GET / HTTP/1.1\n${HOST}\r\n`],
  "a bare LF after a header": [400, "GET / HTTP/1.1\r\nHost: a\n\r\n"],
  "a bare LF as the blank line": [400, `GET / HTTP/1.1\r\n${HOST}\n`],
  "a LF before the request line": [400, `\nGET / HTTP/1.1\r\n${HOST}\r\n`],
  "a bare CR in a header": [400, "GET / HTTP/1.1\r\nHost: a\rX-Evil: 1\r\n\r\n"],
  "a NUL in a header": [400, `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`],
  "a folded header": [400, `GET / HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`],
  "a fold before the first header": [400, `GET / HTTP/1.1\r\n X: a\r\n${HOST}\r\n`],
  "a space before the colon": [400, `GET / HTTP/1.1\r\n${HOST}Content-Length : 5\r\n\r\n`],
  "a header without a colon": [400, `GET / HTTP/1.1\r\n${HOST}X\r\n\r\n`],
  "a header without a name": [400, `GET / HTTP/1.1\r\n${HOST}: x\r\n\r\n`],
  "no Host": [400, "GET / HTTP/1.1\r\n\r\n"],
  "two Hosts": [400, `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`],
  "a Host with a path": [400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"],
  "a Host with a user": [400, "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"],
  "a Host that is no URL's": [400, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"],
  "two spaces in the request line": [400, `GET  / HTTP/1.1\r\n${HOST}\r\n`],
  "a tab in the request line": [400, `GET\t/ HTTP/1.1\r\n${HOST}\r\n`],
  "no target": [400, `GET HTTP/1.1\r\n${HOST}\r\n`],
  "no version": [400, `GET /\r\n${HOST}\r\n`],
  "a version in small letters": [400, `GET / http/1.1\r\n${HOST}\r\n`],
  "HTTP/2.0": [505, "PRI * HTTP/2.0\r\n\r\n"],
  "HTTP/0.9": [505, `GET / HTTP/0.9\r\n${HOST}\r\n`],
  "HTTP/2.1": [505, `GET / HTTP/2.1\r\n${HOST}\r\n`],
  "HTTP/1.10": [400, `GET / HTTP/1.10\r\n${HOST}\r\n`],
  "a target without a slash": [400, `GET x HTTP/1.1\r\n${HOST}\r\n`],
  "a target with a fragment": [400, `GET /#x HTTP/1.1\r\n${HOST}\r\n`],
  "a control in the target": [400, `GET /\x7f HTTP/1.1\r\n${HOST}\r\n`],
  "a backslash in the path": [400, `GET /x\\..\\health HTTP/1.1\r\n${HOST}\r\n`],
  "a dot segment": [400, `GET /./health HTTP/1.1\r\n${HOST}\r\n`],
  "two dots": [400, `GET /x/../health HTTP/1.1\r\n${HOST}\r\n`],
  "two dots at the end": [400, `GET /x/..?a HTTP/1.1\r\n${HOST}\r\n`],
  "encoded dots": [400, `GET /x/.%2E/health HTTP/1.1\r\n${HOST}\r\n`],
  "dots in an absolute target": [400, `GET http://a/x/%2e%2e/health HTTP/1.1\r\n${HOST}\r\n`],
  "a method in another case": [501, `get / HTTP/1.1\r\n${HOST}\r\n`],
  "a method in two cases": [501, `Post / HTTP/1.1\r\n${HOST}\r\n`],
  "a star of a GET": [400, `GET * HTTP/1.1\r\n${HOST}\r\n`],
  "another scheme": [400, `GET ftp://a/ HTTP/1.1\r\n${HOST}\r\n`],
  "CONNECT": [501, `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`],
  "TRACE": [501, `TRACE / HTTP/1.1\r\n${HOST}\r\n`],
  "a TLS greeting": [400, "\x16\x03\x01\x02\0\x01\r\n\r\n"],
  "a request line of 64 KiB": [414, `GET /${long(65_536)}`],
  "a head of 64 KiB": [431, `GET / HTTP/1.1\r\n${HOST}X: ${long(65_536)}`],
  "101 headers": [431, `GET / HTTP/1.1\r\n${HOST}${"X: a\r\n".repeat(100)}\r\n`],
  "two equal Content-Lengths": [400, `${POST}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`],
  "two different Content-Lengths": [400, `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  "a list of Content-Lengths": [400, `${POST}Content-Length: 1, 1\r\n\r\na`],
  "Content-Length +1": [400, `${POST}Content-Length: +1\r\n\r\na`],
  "Content-Length -1": [400, `${POST}Content-Length: -1\r\n\r\na`],
  "Content-Length 0x1": [400, `${POST}Content-Length: 0x1\r\n\r\na`],
  "an empty Content-Length": [400, `${POST}Content-Length:\r\n\r\na`],
  "a Content-Length of 16 digits": [400, `${POST}Content-Length: 1000000000000000\r\n\r\na`],
  "Content-Length and chunks": [
    400,
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  "chunks and Content-Length": [
    400,
    `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  ],
  "chunked twice": [400, `${POST}${"Transfer-Encoding: chunked\r\n".repeat(2)}\r\n0\r\n\r\n`],
  "gzip, chunked": [501, `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  "chunked, identity": [501, `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  "xchunked": [501, `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  "chunked behind a vertical tab": [400, `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  "an empty coding": [501, `${POST}Transfer-Encoding:\r\n\r\n0\r\n\r\n`],
  "chunks in HTTP/1.0": [400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
};

for (const [name, [status, text]] of Object.entries(REFUSED)) {
  Deno.test(`${name} is answered with ${status}, and what follows is no request`, async () => {
    const answer = await answerTo(`${text}GET /smuggled HTTP/1.1\r\n${HOST}\r\n`);
    assertEquals([answer.statuses, answer.shut, answer.closed], [[status], true, true]);
    assertEquals(answer.errors, []);
    assertMatch(answer.text, DATE);
    const [head, body] = answer.text.split("\r\n\r\n");
    assert(head.includes(`content-length: ${body.length}\r\n`), head);
    const { error } = JSON.parse(body);
    assertEquals([error.code, error.param], ["invalid_request", null]);
    assert(/^The request: [\x20-\x7e]+\.$/.test(error.message), error.message);
  });
}

Deno.test("what begins like no method is refused at its first byte: a TLS greeting has no line end to wait for", async () => {
  for (const text of ["\x16", "\x80", "\0", " GET / HTTP/1.1", "\t"]) {
    assertEquals((await answerTo(text)).statuses, [400], JSON.stringify(text));
  }
  assertEquals((await answerTo("\r")).statuses, []);
});

Deno.test("blanks in a header take no more time than letters", () => {
  const blanks = " ".repeat(60_000);
  for (const line of [`X: a${blanks}b`, `X:${blanks}\0`, `Connection: a,${blanks}b`, `X: a${blanks}`]) {
    const bytes = Uint8Array.from(`GET / HTTP/1.1\r\n${HOST}${line}\r\n\r\n`, (c) => c.charCodeAt(0));
    const began = performance.now();
    try {
      parseRequestHead(bytes);
    } catch (error) {
      assert(error instanceof Refusal);
    }
    // It is 5 ms; the square of their number is seconds.
    assertLess(performance.now() - began, 500, line.slice(0, 15));
  }
});

/** What must be taken, each with what the handler sees. */
const TAKEN: Record<string, [text: string, seen: unknown[]]> = {
  "a query": [`GET /a?b=c&d HTTP/1.1\r\n${HOST}\r\n`, ["GET", "/a?b=c&d", null, ""]],
  "UTF-8 in the target": [`GET /\xc3\xa9?a=\xec\x95\x88 HTTP/1.1\r\n${HOST}\r\n`, [
    "GET",
    "/%c3%a9?a=%ec%95%88",
    null,
    "",
  ]],
  "dots that are no segment": [`GET /.a/b../...?c=/../\\ HTTP/1.1\r\n${HOST}\r\n`, [
    "GET",
    "/.a/b../...?c=/../\\",
    null,
    "",
  ]],
  "an absolute target": ["GET http://b/a?c HTTP/1.1\r\nHost: a\r\n\r\n", ["GET", "/a?c", null, ""]],
  "an empty Host": ["GET /a HTTP/1.1\r\nHost:\r\n\r\n", ["GET", "/a", null, ""]],
  "an IPv6 Host": ["GET /a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", ["GET", "/a", null, ""]],
  "OPTIONS of a path that is a star": [`OPTIONS /* HTTP/1.1\r\n${HOST}\r\n`, ["OPTIONS", "/*", null, ""]],
  "HTTP/1.2": [`GET /a HTTP/1.2\r\n${HOST}\r\n`, ["GET", "/a", null, ""]],
  "HTTP/1.9 with a body in chunks": [
    `POST / HTTP/1.9\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
    ["POST", "/", null, "a"],
  ],
  "HTTP/1.0, whose client waits for nothing": [
    `POST / HTTP/1.0\r\n${HOST}Content-Length: 1\r\nExpect: 100-continue\r\n\r\na`,
    ["POST", "/", null, "a"],
  ],
  "HTTP/1.0 without Host": ["GET /a HTTP/1.0\r\n\r\n", ["GET", "/a", null, ""]],
  "line ends before the request": [`\r\n\r\nGET /a HTTP/1.1\r\n${HOST}\r\n`, ["GET", "/a", null, ""]],
  "spaces and tabs around a value": [
    `GET /a HTTP/1.1\r\n${HOST}X-A: \t b c \t\r\n\r\n`,
    ["GET", "/a", "b c", ""],
  ],
  "a header twice": [`GET /a HTTP/1.1\r\n${HOST}X-A: b\r\nx-a: c\r\n\r\n`, ["GET", "/a", "b, c", ""]],
  "bytes above ASCII in a value": [`GET /a HTTP/1.1\r\n${HOST}X-A: \x80\xff\r\n\r\n`, [
    "GET",
    "/a",
    "\x80\xff",
    "",
  ]],
  "100 headers": [`GET /a HTTP/1.1\r\n${HOST}${"X: a\r\n".repeat(99)}\r\n`, ["GET", "/a", null, ""]],
  "a body with a length": [`${POST}Content-Length: 3\r\n\r\nabc`, ["POST", "/", null, "abc"]],
  "spaces behind a length": [`${POST}Content-Length: 3 \t\r\n\r\nabc`, ["POST", "/", null, "abc"]],
  "a body in chunks": [
    `${POST}Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n002 ; x="y"\r\nbc\r\n0\r\nX-T: 1\r\n\r\n`,
    ["POST", "/", null, "abc"],
  ],
  "a body of a GET, which is passed over": [`GET /a HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`, [
    "GET",
    "/a",
    null,
    "",
  ]],
};

for (const [name, [text, seen]] of Object.entries(TAKEN)) {
  Deno.test(`${name} is taken, also when it arrives cut at any byte`, async () => {
    for (let cut = 0; cut < text.length; cut++) {
      const { socket, ended } = serving(echo);
      socket.send(text.slice(0, cut));
      await settle();
      if (cut < text.lastIndexOf("\r\n\r\n") + 4 && !text.endsWith("\r\n\r\nabc")) {
        assertEquals(socket.text, "", `before byte ${cut}`);
      }
      socket.send(text.slice(cut));
      await settle();
      assertEquals(statuses(socket), [200]);
      assertEquals(JSON.parse(socket.text.split("\r\n\r\n")[1]), seen, `cut at ${cut}`);
      socket.leave();
      await ended;
    }
  });
}

Deno.test("a request has the URL and the headers that the platform's own would have, whatever came before it", () => {
  const targets = [
    "/",
    "/a?b=c&d=%41+e",
    "//a//",
    "/a'b",
    "/?'",
    "/~a!$&()*+,;=:@-._",
    "/%zz?%",
    "/[]{}|^`",
    "/?[]{}|^`<>",
  ];
  for (const host of ["a", "A", "a:80", "a:8080", "[::1]:8170", "127.1", "a"]) {
    for (const target of targets) {
      const head = parseRequestHead(
        new TextEncoder().encode(`GET ${target} HTTP/1.1\r\nHOST: ${host}\r\nX: 1\r\n\r\n`),
      );
      const { url, headers } = new Request(`http://${host}${target}`, { headers: { host, x: "1" } });
      assertEquals([head.url, [...new Headers(head.headers)]], [url, [...headers]], `${host} ${target}`);
    }
  }
});

Deno.test("OPTIONS * is answered for the server, whatever the handler does, and the connection goes on", async () => {
  const { socket, ended } = serving(() => new Response("a path's"));
  const ask = `OPTIONS * HTTP/1.1\r\n${HOST}`;
  const chunks = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
  socket.send(`${ask}\r\n${ask}Content-Length: 2\r\n\r\nab${ask}${chunks}GET / HTTP/1.1\r\n${HOST}\r\n`);
  await settle();
  const one = "HTTP/1.1 204 No Content\r\nallow: GET, HEAD, POST, OPTIONS\r\n\r\n";
  assertEquals(dateless(socket.text).split("HTTP/1.1 200")[0], one.repeat(3));
  assertEquals(statuses(socket), [204, 204, 204, 200]);
  socket.leave();
  await ended;
});

/** Chunks that are none; the length of the body would be a guess. */
const BROKEN_CHUNKS = {
  "a size that is no number": "zz\r\nabc\r\n0\r\n\r\n",
  "a negative size": "-1\r\nabc\r\n0\r\n\r\n",
  "a byte order mark before the size": "\xef\xbb\xbf3\r\nabc\r\n0\r\n\r\n",
  "a size with 0x": "0x3\r\nabc\r\n0\r\n\r\n",
  "a size of 9 digits": "000000003\r\nabc\r\n0\r\n\r\n",
  "an empty size": "\r\nabc\r\n0\r\n\r\n",
  "a space after the size": "3 \r\nabc\r\n0\r\n\r\n",
  "a bare LF after the size": "3\nabc\r\n0\r\n\r\n",
  "a bare LF after the data": "3\r\nabc\n0\r\n\r\n",
  "data longer than its size": "2\r\nabc\r\n0\r\n\r\n",
  "a bare CR in an extension": "3;a\rb\r\nabc\r\n0\r\n\r\n",
  "an extension of 1 KiB": `3;${long(1024)}\r\nabc\r\n0\r\n\r\n`,
  "a trailer that is no header": "3\r\nabc\r\n0\r\nx\r\n\r\n",
  "a trailer with a bare LF": "3\r\nabc\r\n0\r\nX: y\n\r\n",
  "trailers of 8 KiB": `3\r\nabc\r\n0\r\n${"X: y\r\n".repeat(1400)}\r\n`,
};

for (const [name, chunks] of Object.entries(BROKEN_CHUNKS)) {
  Deno.test(`${name} breaks the body off, and the connection ends with the answer`, async () => {
    const { socket, ended, errors } = serving(async (request) => {
      const text = await request.text().catch((error) => {
        assert(error instanceof Refusal);
        assertMatch(error.message, /^wanted [\x20-\x7e\xa0-\xff]+$/);
      });
      return new Response(text ?? "broken", { status: text === undefined ? 400 : 200 });
    });
    socket.send(`${POST}Transfer-Encoding: chunked\r\n\r\n${chunks}GET /smuggled HTTP/1.1\r\n${HOST}\r\n`);
    await settle();
    assertEquals([socket.text.includes("connection: close\r\n"), socket.shut], [true, true]);
    socket.leave();
    await ended;
    assertEquals([statuses(socket), errors], [[400], []]);
  });
}

Deno.test("requests sent at once are answered one after the other, in order, however they are cut", async () => {
  const texts = [
    `GET /1 HTTP/1.1\r\n${HOST}\r\n`,
    `POST /2 HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nab`,
    `POST /3 HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n2\r\ncd\r\n0\r\n\r\n`,
    `GET /4 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
    `GET /5 HTTP/1.1\r\n${HOST}\r\n`,
  ];
  const all = texts.join("");
  let whole: string | undefined;
  for (let cut = 0; cut < all.length; cut++) {
    const { socket, ended } = serving(echo);
    socket.send(all.slice(0, cut));
    await settle();
    socket.send(all.slice(cut));
    await settle();
    socket.leave();
    await ended;
    const text = dateless(socket.text);
    whole ??= text;
    assertEquals(text, whole, `cut at ${cut}`);
  }
  const bodies = [...whole!.matchAll(/\["[^\r\n]*\]/g)].map(([body]) => JSON.parse(body));
  assertEquals(bodies.map(([, path, , body]) => [path, body]), [
    ["/1", ""],
    ["/2", "ab"],
    ["/3", "cd"],
    ["/4", ""],
  ]);
});
