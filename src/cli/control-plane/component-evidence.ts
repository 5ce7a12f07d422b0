/** What the components of a control plane that does not come up have written last. */
import { readFileSync, statSync } from "node:fs";
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
  // A pod that is replaced leaves its logs for a moment, and the container that was made last may have said nothing.
  const logs = fileNamesIn(folder)
    .filter((name) => name.startsWith(`kube-system_${component}-`))
    .map((pod) => join(folder, pod, component))
    .flatMap((logs) => fileNamesIn(logs).map((name) => join(logs, name)))
    .filter((path) => /\/\d+\.log$/.test(path))
    .map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.at - a.at);
  for (const { path } of logs) {
    const line = tailOf(path).trimEnd().split("\n").at(-1) ?? "";
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
