/** What the components of a control plane that does not come up have written last. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileNamesIn } from "../../process/programs.ts";

const COMPONENTS = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
const POD_LOGS = "/var/log/pods";
const TAIL_BYTES = 4096;

/** A line for each component that has written something; none where no container was started. */
export function componentEvidence(folder: string = POD_LOGS): readonly string[] {
  return COMPONENTS.flatMap((name) => {
    const line = componentLine(name, folder);
    return line === undefined ? [] : [`${name} wrote last: ${line}`];
  });
}

/** The last line that a component has written; undefined where it has written none. */
export function componentLine(component: string, folder: string = POD_LOGS): string | undefined {
  const pods = fileNamesIn(folder).filter((name) => name.startsWith(`kube-system_${component}-`));
  for (const pod of pods) {
    const logs = join(folder, pod, component);
    // Attempts are counted: the highest number is the newest.
    const [newest] = fileNamesIn(logs)
      .filter((name) => /^\d+\.log$/.test(name))
      .toSorted((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10));
    const text = newest === undefined ? "" : tailOf(join(logs, newest));
    const line = text.trimEnd().split("\n").at(-1) ?? "";
    // Time, stream and tag of the CRI's format come first.
    if (line !== "") return line.replace(/^\S+ std(?:out|err) [FP] /, "");
  }
  return undefined;
}

function tailOf(path: string): string {
  try {
    return readFileSync(path).subarray(-TAIL_BYTES).toString("utf8");
  } catch {
    return "";
  }
}
