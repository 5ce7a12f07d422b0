/** What a lab is made from: programs built from their modules, and the store of images; both kept outside the checkout. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ImageSpec } from "../../src/cli/local-images/image-archive.ts";
import { boxObstacle } from "../../test/box/prerequisites.ts";
import { CACHE_DIR } from "../debian-suite.mjs";
import { buildPrograms, builtProgram, sourceFolder } from "../go/build-programs.mjs";
import { goObstacle } from "../go/go-command.mjs";
import { withLock } from "../setup/lock.mjs";
import type { SuiteName } from "./groups.ts";
import { clusterImages } from "./images/cluster-images.ts";
import { writeStore } from "./images/store.ts";
import { suiteImages } from "./images/suite-images.ts";
import type { LabParts } from "./lab/suite-lab.ts";
import type { KubeletChoice } from "./options.ts";

type Say = (text: string) => void;

const PROGRAMS = [
  ...["ginkgo", "etcd", "containerd", "containerd-shim-runc-v2", "ctr", "runc"],
  ...["bridge", "loopback", "host-local", "bandwidth", "portmap"],
];
/** Programs that a cluster runs as pods. */
const CLUSTER_PROGRAMS = ["kube-proxy", "coredns"];
const PROGRAMS_OF: Readonly<Record<SuiteName, readonly string[]>> = {
  node: ["e2e_node.test"],
  cluster: [
    ...["e2e.test", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"],
    ...CLUSTER_PROGRAMS,
  ],
};
/** Programs that stand in images. */
const IMAGE_PROGRAMS = [
  ...["agnhost", "nonewprivs", "sample-device-plugin", "regression-issue-74839"],
  ...["resource-consumer", "consume-cpu", "sample-apiserver", "etcd"],
];
const HOME = join(CACHE_DIR, "conformance");
/** No run takes that long. */
const UNUSED_MS = 24 * 3600 * 1000;
const IMAGES = join(import.meta.dirname, "images");

/** Folder of reports and logs of the last run, by the name of its result. */
export function resultsFolder(name: string): string {
  return join(HOME, "results", name);
}

/** Why the node suite cannot run here, in words for a skipped test; undefined when it can. */
export function nodeSuiteObstacle(): string | undefined {
  return boxObstacle() ?? goObstacle();
}

/** Builds what is missing; throws `Unavailable` of tools/go where there is no Go. */
export async function prepareParts(
  choice: KubeletChoice,
  say: Say,
  suite: SuiteName = "node",
): Promise<LabParts> {
  const go = choice.kind === "go" ? ["kubelet"] : [];
  const names = [...PROGRAMS_OF[suite], ...PROGRAMS, ...IMAGE_PROGRAMS, ...go];
  await buildPrograms([...new Set(names)], { say });
  return { stores: await prepareStores(suite, say), program: known, kubelet: kubeletPath(choice) };
}

function known(name: string): string {
  const path = builtProgram(name);
  if (path === undefined) throw new Error(`there is no ${name} yet`);
  return path;
}

function kubeletPath(choice: KubeletChoice): string {
  switch (choice.kind) {
    case "nodelet":
      return fileURLToPath(new URL("../../bin/nodelet", import.meta.url));
    case "go":
      return known("kubelet");
    case "path":
      return choice.path;
    default:
      return choice satisfies never;
  }
}

/** A younger one may serve a run that goes on. */
function removeOldStores(kind: string): void {
  for (const name of readdirSync(HOME).filter((each) => each.startsWith(`${kind}-`))) {
    const path = join(HOME, name);
    if (Date.now() - statSync(path).mtimeMs > UNUSED_MS) rmSync(path, { recursive: true });
  }
}

/** Folders with what the registry of a lab serves; the second has what a cluster itself runs as pods. */
async function prepareStores(suite: SuiteName, say: Say): Promise<string[]> {
  const images = () =>
    suiteImages({ program: known, kubernetes: sourceFolder("e2e_node.test"), say });
  const stores = [await prepareStore("images", IMAGE_PROGRAMS, images, say)];
  if (suite === "cluster")
    stores.push(
      await prepareStore("cluster-images", CLUSTER_PROGRAMS, () => clusterImages(known), say),
    );
  return stores;
}

/** A store is made again when its programs or the description of the images change. */
async function prepareStore(
  kind: string,
  programs: readonly string[],
  images: () => readonly ImageSpec[],
  say: Say,
): Promise<string> {
  const sources = readdirSync(IMAGES)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .sort()
    .map((name) => readFileSync(join(IMAGES, name), "utf8"));
  const text = [...programs.map(known), ...sources].join("\n");
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const store = join(HOME, `${kind}-${digest}`);
  const other = "another run that makes the images";
  mkdirSync(HOME, { recursive: true });
  await withLock(
    join(HOME, "images.lock"),
    async () => {
      if (existsSync(store)) return;
      removeOldStores(kind);
      say("making the images");
      writeStore(store, images());
    },
    { other },
  );
  return store;
}
