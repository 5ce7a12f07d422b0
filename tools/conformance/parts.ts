/** What a lab is made from: programs built from their modules, and the store of images; both kept outside the checkout. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { boxObstacle } from "../../test/box/prerequisites.ts";
import { CACHE_DIR } from "../debian-suite.mjs";
import { buildPrograms, builtProgram, sourceFolder } from "../go/build-programs.mjs";
import { goObstacle } from "../go/go-command.mjs";
import { withLock } from "../setup/lock.mjs";
import { writeStore } from "./images/store.ts";
import { suiteImages } from "./images/suite-images.ts";
import type { LabParts } from "./lab/lab.ts";
import type { KubeletChoice } from "./options.ts";

type Say = (text: string) => void;

const PROGRAMS = [
  ...["e2e_node.test", "ginkgo", "etcd", "containerd", "containerd-shim-runc-v2", "ctr", "runc"],
  ...["bridge", "loopback", "host-local", "bandwidth", "portmap"],
];
/** Programs that stand in images. */
const IMAGE_PROGRAMS = [
  ...["agnhost", "nonewprivs", "sample-device-plugin", "regression-issue-74839"],
  ...["resource-consumer", "consume-cpu", "sample-apiserver", "etcd"],
];
const HOME = join(CACHE_DIR, "conformance");
/** No run takes that long. */
const UNUSED_MS = 24 * 3600 * 1000;
const IMAGES = join(import.meta.dirname, "images");

/** Folder of reports and logs of the last run of a group. */
export function resultsFolder(group: string, kubelet: string): string {
  return join(HOME, "results", `${group}-${kubelet}`);
}

/** Why the node suite cannot run here, in words for a skipped test; undefined when it can. */
export function nodeSuiteObstacle(): string | undefined {
  return boxObstacle() ?? goObstacle();
}

/** Builds what is missing; throws `Unavailable` of tools/go where there is no Go. */
export async function prepareParts(choice: KubeletChoice, say: Say): Promise<LabParts> {
  const go = choice.kind === "go" ? ["kubelet"] : [];
  await buildPrograms([...new Set([...PROGRAMS, ...IMAGE_PROGRAMS, ...go])], { say });
  return { store: await prepareStore(say), program: known, kubelet: kubeletPath(choice) };
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
function removeOldStores(): void {
  for (const name of readdirSync(HOME).filter((each) => each.startsWith("images-"))) {
    const path = join(HOME, name);
    if (Date.now() - statSync(path).mtimeMs > UNUSED_MS) rmSync(path, { recursive: true });
  }
}

/** The store is made again when programs or the description of the images change. */
async function prepareStore(say: Say): Promise<string> {
  const sources = readdirSync(IMAGES)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .sort()
    .map((name) => readFileSync(join(IMAGES, name), "utf8"));
  const text = [...IMAGE_PROGRAMS.map(known), ...sources].join("\n");
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const store = join(HOME, `images-${digest}`);
  const other = "another run that makes the images";
  mkdirSync(HOME, { recursive: true });
  await withLock(
    join(HOME, "images.lock"),
    async () => {
      if (existsSync(store)) return;
      removeOldStores();
      say("making the images");
      const kubernetes = sourceFolder("e2e_node.test");
      writeStore(store, suiteImages({ program: known, kubernetes, say }));
    },
    { other },
  );
  return store;
}
