// pure
import { isTree } from "../../kit/json.ts";
/** Facts of a container runtime from its status, and whether `up` can use it. */

/** Facts about a runtime that answers on its socket. */
export interface RuntimeFacts {
  /** E.g. `containerd 1.6.20`. */
  readonly version: string;
  /** CRI version, e.g. `v1`. */
  readonly api: string;
  /** Conditions of CRI's status that are not met, in the runtime's words. */
  readonly notReady: readonly string[];
  /** Its own words about itself, by name (verbose status). */
  readonly description: Readonly<Record<string, string>>;
  /** What it says of settings of its own that a later version of it will not support. */
  readonly deprecations: readonly string[];
  /** Pods it runs. */
  readonly pods: number;
}

/** Settings of a containerd; `undefined` where it does not report them. */
interface RuntimeSettings {
  readonly systemdCgroups: boolean | undefined;
  readonly sandboxImage: string | undefined;
  readonly restrictsOomScore: boolean | undefined;
}

/** Reads the settings out of containerd's description of itself (1.6 to 2.x). */
export function runtimeSettings(description: RuntimeFacts["description"]): RuntimeSettings {
  const config = parseJson(description["config"] ?? "");
  const runc = objectAt(config, ["containerd", "runtimes", "runc", "options"]);
  const systemd = runc?.["SystemdCgroup"];
  const image = config?.["sandboxImage"];
  const restricts = config?.["restrictOOMScoreAdj"];
  return {
    systemdCgroups: typeof systemd === "boolean" ? systemd : undefined,
    sandboxImage: typeof image === "string" && image !== "" ? image : undefined,
    restrictsOomScore: typeof restricts === "boolean" ? restricts : undefined,
  };
}

interface RuntimeUse {
  /** Whether an earlier `up` used it, so that its pods are ours. */
  readonly known: boolean;
  readonly mayLowerOomScore: boolean;
}

/** Why pods cannot or must not run there; `undefined` when they can. */
export function runtimeObstacle(facts: RuntimeFacts, use: RuntimeUse): string | undefined {
  const { systemdCgroups, restrictsOomScore } = runtimeSettings(facts.description);
  if (facts.api !== "v1") return `it supports CRI ${facts.api}, but v1 is required`;
  if (facts.notReady.length > 0) return facts.notReady.join("; ");
  if (systemdCgroups === true)
    return "its runc uses the systemd cgroup driver, nodelet uses cgroupfs";
  if (restrictsOomScore === false && !use.mayLowerOomScore)
    return "without CAP_SYS_RESOURCE its restrict_oom_score_adj must be true";
  if (facts.pods > 0 && !use.known) {
    const pods = facts.pods === 1 ? "a pod" : `${facts.pods} pods`;
    return `it runs ${pods} of another agent, which would be stopped`;
  }
  return undefined;
}

function parseJson(text: string): { readonly [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isTree(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function objectAt(
  tree: { readonly [name: string]: unknown } | undefined,
  path: readonly string[],
): { readonly [name: string]: unknown } | undefined {
  let at: unknown = tree;
  for (const name of path) at = isTree(at) ? at[name] : undefined;
  return isTree(at) ? at : undefined;
}
