/**
 * A registry on loopback that serves the images of stores, whatever host the name has, and knows no others:
 *   node tools/conformance/lab/registry.ts PORT STORE…
 */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { blobPath, readIndex, type StoreIndex } from "../images/store.ts";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const ROUTE = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/;

/** Answers one request; `host` is the registry that the client means. */
function answer(
  stores: readonly string[],
  index: StoreIndex,
  url: URL,
  response: ServerResponse,
): void {
  if (url.pathname === "/v2/") {
    response.end("{}");
    return;
  }
  const [, name, kind, reference = ""] = ROUTE.exec(url.pathname) ?? [];
  const host = url.searchParams.get("ns") ?? "docker.io";
  const digest = reference.includes(":") ? reference : index[`${host}/${name}:${reference}`];
  const path = digest === undefined ? undefined : storedBlob(stores, digest);
  if (digest === undefined || path === undefined) {
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

function storedBlob(stores: readonly string[], digest: string): string | undefined {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) return undefined;
  return stores.map((store) => blobPath(store, digest)).find((path) => existsSync(path));
}

const [port = "", ...stores] = process.argv.slice(2);
const index = readIndex(stores);
createServer((request, response) =>
  answer(stores, index, new URL(request.url ?? "/", "http://registry"), response),
).listen(Number(port), "127.0.0.1", () => console.log("ready"));
