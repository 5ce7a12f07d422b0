/**
 * A registry on loopback that serves a store of images, whatever host the name has, and knows no others:
 *   node tools/conformance/lab/registry.ts STORE PORT
 */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { blobPath, readIndex, type StoreIndex } from "../images/store.ts";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const ROUTE = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/;

/** Answers one request; `host` is the registry that the client means. */
function answer(store: string, index: StoreIndex, url: URL, response: ServerResponse): void {
  if (url.pathname === "/v2/") {
    response.end("{}");
    return;
  }
  const [, name, kind, reference = ""] = ROUTE.exec(url.pathname) ?? [];
  const host = url.searchParams.get("ns") ?? "docker.io";
  const digest = reference.includes(":") ? reference : index[`${host}/${name}:${reference}`];
  const path = digest === undefined ? "" : blobPath(store, digest);
  if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest) || !existsSync(path)) {
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"not known here"}]}');
    return;
  }
  response.writeHead(200, {
    "content-type": kind === "manifests" ? MANIFEST : "application/octet-stream",
    "content-length": statSync(path).size,
    "docker-content-digest": digest,
  });
  if (response.req.method === "HEAD") response.end();
  else createReadStream(path).pipe(response);
}

const [store = "", port = ""] = process.argv.slice(2);
const index = readIndex(store);
createServer((request, response) =>
  answer(store, index, new URL(request.url ?? "/", "http://registry"), response),
).listen(Number(port), "127.0.0.1", () => console.log("ready"));
