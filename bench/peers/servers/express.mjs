// express: its response is node:http's, so streams are written in the same way.
import express from "express";
import { randomUUID } from "node:crypto";
import { HEADERS, readPort, readQuery } from "./common.mjs";
import { writeStream } from "./node_stream.mjs";

const app = express();

app.get("/health", (_request, response) => {
  response.json({ status: "ok" });
});

app.get("/stream", (request, response) => {
  response.set(HEADERS).set("X-Request-Id", randomUUID());
  response.flushHeaders();
  writeStream(response, readQuery((name) => request.query[name]));
});

app.listen(readPort(), "127.0.0.1");
