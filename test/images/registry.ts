// A registry for tests: it serves one small image under many names and misbehaves as the name says. Run inside a
// box: node test/images/registry.ts PORT. Prints `ready`.
//
// Names: ok/*, auth/* (basic auth user:secret), stall/* (never answers for the manifest), slow/* (bytes come
// slowly), slow/large* (and there are many), reset/* (closes the connection), s<code>/* (that status), and any tag or path below.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { configBytes, goArchitecture } from "../../src/cli/local-images/image-archive.ts";
import { testImage } from "../box/images.ts";

interface Blob {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

const MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json";
const CREDENTIALS = `Basic ${Buffer.from("user:secret").toString("base64")}`;
const SLOW_CHUNK = 64 * 1024;
const SLOW_MS = 100;
/** Takes some three seconds when it comes slowly. */
const LARGE_BYTES = 2 * 1024 * 1024;

const blobs = new Map<string, Uint8Array>();
const manifests = new Map<string, Blob>();

function keep(bytes: Uint8Array): Blob {
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  blobs.set(digest, bytes);
  return { bytes, digest };
}

/** The manifest of an image with a layer of its own for each repository. */
function manifestOf(repository: string): Blob {
  const known = manifests.get(repository);
  if (known) return known;
  const paddingBytes = repository.startsWith("slow/large") ? LARGE_BYTES : 256 * 1024;
  const spec = testImage({ names: [`${repository}:1`], paddingBytes });
  const config = keep(configBytes(spec, goArchitecture()));
  const layers = spec.layers.map(keep);
  const describe = (type: string) => (blob: Blob) => ({
    mediaType: `application/vnd.docker.${type}`,
    size: blob.bytes.length,
    digest: blob.digest,
  });
  const text = JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: describe("container.image.v1+json")(config),
    layers: layers.map(describe("image.rootfs.diff.tar")),
  });
  const made = keep(new TextEncoder().encode(text));
  manifests.set(repository, made);
  return made;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = request.url ?? "";
  if (url === "/v2/") return void response.writeHead(200).end();
  const [, repository = "", kind = "", reference = ""] =
    /^\/v2\/(.+)\/(manifests|blobs)\/([^?]+)/.exec(url) ?? [];
  const manner = repository.split("/")[0] ?? "";
  const [, status] = /^s(\d{3})$/.exec(manner) ?? [];
  if (status !== undefined) {
    const errors = [{ code: "TEST", message: `this is status ${status}` }];
    return void response.writeHead(Number(status)).end(JSON.stringify({ errors }));
  }
  if (manner === "reset") return void request.socket.resetAndDestroy();
  if (manner === "stall") return;
  if (manner === "auth" && request.headers.authorization !== CREDENTIALS) {
    const headers = { "www-authenticate": 'Basic realm="test"' };
    return void response.writeHead(401, headers).end();
  }
  const manifest = manifestOf(repository);
  const bytes = kind === "manifests" ? manifest.bytes : blobs.get(reference);
  if (!bytes) return void response.writeHead(404).end();
  response.writeHead(200, {
    "content-length": bytes.length,
    "content-type": kind === "manifests" ? MANIFEST_TYPE : "application/octet-stream",
    ...(kind === "manifests" ? { "docker-content-digest": manifest.digest } : {}),
  });
  if (request.method === "HEAD") return void response.end();
  if (manner !== "slow" || kind === "manifests") return void response.end(bytes);
  for (let at = 0; at < bytes.length && !response.destroyed; at += SLOW_CHUNK) {
    response.write(bytes.subarray(at, at + SLOW_CHUNK));
    await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
  }
  response.end();
}

const port = Number(process.argv[2] ?? "5000");
const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.destroy();
  });
});
server.listen(port, "127.0.0.1", () => process.stdout.write("ready\n"));
