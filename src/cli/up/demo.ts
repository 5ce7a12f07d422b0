/** The example that `up --demo` runs. */
import { join } from "node:path";
import type { Pod } from "../../api/generated/types.ts";
import { readPackageFile } from "../../process/package-root.ts";
import { HELLO_IMAGE, helloImage } from "../local-images/local-images.ts";
import { commandWord } from "./command-link.ts";
import { fileState } from "./ledger.ts";
import type { UpPaths } from "./paths.ts";
import { ensureImages, type ImageTarget } from "./runtime/bring-images.ts";

/** Name of the pod in the example's manifest. */
const DEMO_POD = "hello";
const DEMO_PORT = 8080;

/** Brings the example's image and puts its manifest into the agent's folder. */
export async function installDemo(paths: UpPaths, target: ImageTarget): Promise<void> {
  await ensureImages(target, [{ name: HELLO_IMAGE, build: helloImage }]);
  const file = join(paths.manifests, `${DEMO_POD}.yaml`);
  const state = fileState(target.ledger.now, file);
  if (state === "changed" || state === "foreign") {
    target.print(`${file} was not created by nodelet, or was changed since; keeping it`);
    return;
  }
  const manifest = readPackageFile("examples/hello/pod.yaml").toString();
  target.ledger.writeFile(file, manifest, 0o644);
}

/** Whether a pod is the example's. */
export function isDemoPod(pod: Pod): boolean {
  const { name = "", namespace } = pod.metadata ?? {};
  return namespace === "default" && name === `${DEMO_POD}-${pod.spec?.nodeName ?? ""}`;
}

/** Suggestions for the example once it is ready. */
export function demoHints(pod: Pod): readonly string[] {
  const address = pod.status?.podIP ?? "";
  const word = commandWord();
  return [
    `${DEMO_POD} is ready: curl http://${address}:${DEMO_PORT}/`,
    `${word} why ${DEMO_POD}                      what was decided, and why`,
    `${word} exec ${DEMO_POD} -- rm /www/ready    see its readiness probe fail`,
    `${word} exec ${DEMO_POD} -- rm /www/alive    see its liveness probe fail, and the restart`,
    `${word} logs -f ${DEMO_POD}                  what it writes`,
    "its image was built on this machine; others come from a registry or an archive:",
    `${word} images pull IMAGE, ${word} images load -i FILE`,
  ];
}
