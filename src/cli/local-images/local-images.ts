/**
 * Images that nodelet builds itself, since no registry may be reachable: the pod sandbox's `pause` and the
 * example `hello`. Same input, same bytes, same image id.
 */
import { listPackageFolder, readPackageFile } from "../../process/package-root.ts";
import { busyboxEntries } from "./busybox.ts";
import { dockerArchive, goArchitecture, type ImageSpec, layer } from "./image-archive.ts";
import type { TarEntry } from "./tar.ts";
import { pauseProgram } from "./tiny-elf.ts";

/** The sandbox image of a containerd that nodelet starts. */
export const PAUSE_IMAGE = "localhost/nodelet/pause:1";
/** The image of `examples/hello`. */
export const HELLO_IMAGE = "localhost/nodelet/hello:1";

/** The example's folder in the package. */
const EXAMPLE = "examples/hello";
/** The account the example runs as. */
const HELLO_USER = 1000;

/** A sandbox image under the given reference: a few bytes of program, else busybox' sleep. */
export function pauseImage(name: string = PAUSE_IMAGE): ImageSpec {
  const program = pauseProgram(goArchitecture());
  if (program === undefined) {
    const entrypoint = ["/bin/sleep", "2147483647"];
    return { names: [name], config: { entrypoint }, layers: [layer(busyboxLayout())] };
  }
  const files = layer([{ kind: "file", path: "pause", content: program, mode: 0o755 }]);
  return { names: [name], config: { entrypoint: ["/pause"] }, layers: [files] };
}

/** The image of `examples/hello`: busybox, the example's pages, and its start script. */
export function helloImage(): ImageSpec {
  const owner = { uid: HELLO_USER, gid: HELLO_USER };
  const pages = listPackageFolder(`${EXAMPLE}/www`).map((name) =>
    file(`www/${name}`, readPackageFile(`${EXAMPLE}/www/${name}`), owner),
  );
  const site = layer([
    { kind: "directory", path: "www", ...owner },
    ...pages,
    file("www/ready", text("ready\n"), owner),
    file("www/alive", text("alive\n"), owner),
    { ...file("start.sh", readPackageFile(`${EXAMPLE}/start.sh`)), mode: 0o755 },
  ]);
  return {
    names: [HELLO_IMAGE],
    config: {
      entrypoint: ["/start.sh"],
      user: `${HELLO_USER}:${HELLO_USER}`,
      exposedPorts: ["8080/tcp"],
    },
    layers: [layer(busyboxLayout()), site],
  };
}

/** The images as one archive for `ctr images import`. */
export function archiveOf(images: readonly ImageSpec[]): Uint8Array {
  return dockerArchive(images, goArchitecture());
}

function busyboxLayout(): TarEntry[] {
  const folders = ["bin", "dev", "etc", "home", "proc", "root", "run", "sys", "var"];
  const accounts = `root:x:0:0:root:/root:/bin/sh\nhello:x:${HELLO_USER}:${HELLO_USER}::/home:/bin/sh\n`;
  return [
    ...folders.map((path): TarEntry => ({ kind: "directory", path })),
    { kind: "directory", path: "tmp", mode: 0o1777 },
    file("etc/passwd", text(accounts)),
    file("etc/group", text(`root:x:0:\nhello:x:${HELLO_USER}:\n`)),
    ...busyboxEntries(),
  ];
}

function file(path: string, content: Uint8Array, owner: { uid?: number; gid?: number } = {}) {
  return { kind: "file", path, content, mode: 0o644, ...owner } as const satisfies TarEntry;
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}
