/** The images of a cluster under the names that kubeadm asks for, with the programs built from their modules. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { busyboxEntries } from "../../src/cli/local-images/busybox.ts";
import { goArchitecture, type ImageSpec, layer } from "../../src/cli/local-images/image-archive.ts";
import { pauseProgram } from "../../src/cli/local-images/tiny-elf.ts";
import { debianFiles } from "../../tools/conformance/images/debian-files.ts";
import { accountFiles, file, link, merged } from "../../tools/conformance/images/root-files.ts";
import { writeStore } from "../../tools/conformance/images/store.ts";
import { CACHE_DIR } from "../../tools/debian-suite.mjs";
import { buildPrograms, pinnedVersion } from "../../tools/go/build-programs.mjs";
import { testImage } from "../box/images.ts";

const PROGRAMS = [
  "kubeadm",
  "kubectl",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "etcd",
  "etcdctl",
  "etcdutl",
  "coredns",
  "agnhost",
] as const;
/** Those of the release before. */
const RELEASE_BEFORE = "1.36";
const OF_RELEASE_BEFORE = [
  "kubeadm",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
] as const;

const ETCD_BEFORE = "etcd-3.6";

/** An image with a shell, a web server and a client that resolves names, under a name of the registry. */
export const WEB_IMAGE = "registry.example/web:1";

/** The version of kubeadm, and of the programs in the images. */
export const LATEST = pinnedVersion("kubeadm");
/** The release before by the names of images, which have the same programs: to be upgraded from. */
export const EARLIER = LATEST.replace(/\d+$/, (patch) => `${Number(patch) - 1}`);
/** A version of the minor release before, with its own programs. */
export const MINOR_BEFORE = pinnedVersion(`kubeadm-${RELEASE_BEFORE}`);
/** A registry whose kube-apiserver does not start. */
export const BROKEN_REPOSITORY = "registry.example/broken";
/** What that writes before it ends. */
export const BROKEN_WORDS = "error: this build of kube-apiserver has no storage backend";

/** Paths of programs by the names of their components. */
type Programs = ReadonlyMap<string, string>;

/** Paths of the programs by their names. */
export async function componentPrograms(): Promise<Programs> {
  const paths = await buildPrograms([...PROGRAMS]);
  return new Map(PROGRAMS.map((name, at) => [name as string, paths[at] ?? ""]));
}

/** The same of the minor release before, with the etcd that it asks for; CoreDNS is that of today. */
export async function programsBefore(): Promise<Programs> {
  const names = [...OF_RELEASE_BEFORE, "etcd"] as const;
  const paths = await buildPrograms([
    ...OF_RELEASE_BEFORE.map((name) => `${name}-${RELEASE_BEFORE}`),
    ETCD_BEFORE,
  ]);
  const own = names.map((name, at) => [name, paths[at] ?? ""] as const);
  return new Map([...(await componentPrograms()), ...own]);
}

/** Folder with the images of a cluster of today's programs. */
export function clusterImages(programs: Programs): string {
  return storeOf(`control-plane-images-${LATEST}`, programs, () => {
    const names = [EARLIER, LATEST].flatMap((version) => imageNames(programs, version));
    const images = [...new Set(names)].map((name) => componentImage(name, programs));
    return [...images, webImage(programs)];
  });
}

/** Folder with those of the minor release before. */
export async function imagesBefore(): Promise<string> {
  const programs = await programsBefore();
  return storeOf(`control-plane-images-${MINOR_BEFORE}`, programs, () =>
    imageNames(programs, MINOR_BEFORE).map((name) => componentImage(name, programs)),
  );
}

/** Folder with images of today's version from `BROKEN_REPOSITORY`. */
export async function brokenImages(): Promise<string> {
  const programs = await componentPrograms();
  return storeOf(`control-plane-images-broken-${LATEST}`, programs, () =>
    imageNames(programs, LATEST, `--image-repository=${BROKEN_REPOSITORY}`).map((name) => {
      const image = componentImage(name, programs);
      if (!name.includes("kube-apiserver")) return image;
      const text = `#!/bin/sh\necho '${BROKEN_WORDS}' >&2\nexit 1\n`;
      const program = layer([file("usr/local/bin/kube-apiserver", Buffer.from(text), 0o755)]);
      return { ...image, layers: [...image.layers, program] };
    }),
  );
}

/** A folder that is written once for programs in folders with names of their own. */
function storeOf(name: string, programs: Programs, images: () => readonly ImageSpec[]): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([...programs]))
    .digest("hex");
  const store = join(CACHE_DIR, `${name}-${digest.slice(0, 12)}`);
  if (!existsSync(store)) writeStore(store, images());
  return store;
}

/** What kubeadm asks for in a cluster of a version. */
function imageNames(
  programs: Programs,
  version: string,
  ...more: readonly string[]
): readonly string[] {
  const argv = ["config", "images", "list", `--kubernetes-version=${version}`, ...more];
  const text = execFileSync(programs.get("kubeadm") ?? "", argv, { encoding: "utf8" });
  return text.trim().split("\n");
}

/** The busybox of the image has no shared libraries, without which it resolves no names. */
function webImage(programs: ReadonlyMap<string, string>): ImageSpec {
  const image = testImage({ names: [WEB_IMAGE] });
  const agnhost = layer([file("agnhost", readFileSync(programs.get("agnhost") ?? ""), 0o755)]);
  return { ...image, layers: [...image.layers, agnhost] };
}

/** The image of a component under the name that kubeadm asks for. */
function componentImage(name: string, programs: ReadonlyMap<string, string>): ImageSpec {
  const [, component = ""] = /([a-z-]+):[^/]*$/.exec(name) ?? [];
  if (component === "pause") {
    const pause = pauseProgram(goArchitecture()) ?? new Uint8Array();
    const layers = [layer([file("pause", pause, 0o755)])];
    return { names: [name], layers, config: { entrypoint: ["/pause"] } };
  }
  const isDns = component === "coredns";
  const path = isDns ? "coredns" : `usr/local/bin/${component}`;
  const content = readFileSync(programs.get(component) ?? "");
  return {
    names: [name],
    layers: [
      layer(component === "kube-proxy" ? packetFilter() : merged(busyboxEntries(), accountFiles())),
      layer([
        file(path, content, 0o755),
        ...(component === "etcd" ? ["etcdctl", "etcdutl"] : []).map((tool) =>
          file(`usr/local/bin/${tool}`, readFileSync(programs.get(tool) ?? ""), 0o755),
        ),
      ]),
    ],
    config: isDns ? { entrypoint: ["/coredns"] } : {},
  };
}

/** The programs by which kube-proxy sets rules. */
function packetFilter() {
  const names = ["iptables", "ip6tables"].flatMap((name) =>
    ["", "-save", "-restore"].map((end) => link(`usr/sbin/${name}${end}`, "xtables-nft-multi")),
  );
  const files = [...debianFiles(["iptables"], () => {}).values()];
  return merged(busyboxEntries(), files, accountFiles(), names);
}
