import { basename, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { ContainerdVersion } from "../../test/box/box.ts";
import { CONTAINERD_VERSIONS, isContainerdVersion } from "../../test/box/containerd.ts";

/** Go kubelets that are built here when they are needed, by what the command line calls them. */
const GO_KUBELETS = { go: "kubelet", "go-1.36": "kubelet-1.36" } as const;
type GoKubeletName = keyof typeof GO_KUBELETS;

/** A kubelet to measure: the one of this checkout, a Go kubelet built from its modules, or any binary. */
export type Subject =
  | { readonly kind: "checkout"; readonly label: string }
  | {
      readonly kind: "go";
      readonly label: string;
      readonly program: (typeof GO_KUBELETS)[GoKubeletName];
    }
  | { readonly kind: "binary"; readonly label: string; readonly path: string };

/** What a run of the benchmark is to do. */
export interface BenchOptions {
  readonly subjects: readonly Subject[];
  /** Rounds; in each every subject gets a fresh box, one after the other. */
  readonly rounds: number;
  /** Pods created at once. */
  readonly pods: number;
  /** Pods created one at a time, not counting one to warm up. */
  readonly singles: number;
  /** Length of the window without pods; those with pods take half of it. */
  readonly idleSeconds: number;
  /** Pause before a window and between phases. */
  readonly settleSeconds: number;
  /** Measures nodes of a real API server, pods created through it. */
  readonly cluster: boolean;
  /** Adds a phase with two TCP probes a second for every pod. */
  readonly probes: boolean;
  readonly containerd: ContainerdVersion;
  /** Where to write everything that was measured. */
  readonly json: string | undefined;
  /** Ends with an error when a target is not met by nodelet. */
  readonly strict: boolean;
  /** Folder for CPU profiles of nodelet and their flame graphs, written when an agent leaves. */
  readonly cpuProfile: string | undefined;
  /** Measures in a guest with cgroup v2. */
  readonly guest: boolean;
}

export const USAGE = `usage: npm run bench -- [flags]
  --kubelet WHAT     what to measure, may be given several times: nodelet (this checkout, the default),
                     go or go-1.36 (Go kubelets 1.37 and 1.36, built when needed), PATH or LABEL=PATH
  --rounds N         rounds, in each of them every kubelet gets a fresh node (3)
  --pods N           pods created at once (50)
  --singles N        pods created one at a time (9)
  --idle-seconds N   how long the agent is watched without pods (30)
  --cluster          as nodes of a real API server, pods created through it
  --probes           also watch the agent while it probes every pod twice a second
  --containerd V     machine (default), 1.7, 2.1 or 2.4
  --json FILE        write all that was measured
  --cpu-profile DIR  write CPU profiles of nodelet, each with a flame graph (SVG)
  --guest            in a guest with cgroup v2, several times slower
  --strict           end with 1 when nodelet misses a target
  --quick            1 round, 5 pods, short windows: shows that it works, not how fast`;

/** The user asked for something that does not exist or cannot be; the message is for the screen. */
export class UsageProblem extends Error {}

const FULL = { rounds: 3, pods: 50, singles: 9, idleSeconds: 30, settleSeconds: 3 };
const QUICK = { rounds: 1, pods: 5, singles: 1, idleSeconds: 2, settleSeconds: 0.3 };
const MOST = { rounds: 100, pods: 250, singles: 100, "idle-seconds": 3600 } as const;

/** Reads the command line (without program and script); throws `UsageProblem`. */
export function parseBenchOptions(argv: readonly string[]): BenchOptions {
  const flags = read(argv);
  const base = flags.quick ? QUICK : FULL;
  const containerd = flags.containerd ?? "machine";
  if (!isContainerdVersion(containerd))
    throw new UsageProblem(
      `--containerd ${containerd}: ${CONTAINERD_VERSIONS.join(", ")} are known`,
    );
  if (flags.guest) refuseForGuest(flags);
  return {
    subjects: subjectsOf(flags.kubelet ?? ["nodelet"]),
    rounds: count("rounds", flags.rounds, base.rounds),
    pods: count("pods", flags.pods, base.pods),
    singles: count("singles", flags.singles, base.singles),
    idleSeconds: count("idle-seconds", flags["idle-seconds"], base.idleSeconds),
    settleSeconds: base.settleSeconds,
    cluster: flags.cluster ?? false,
    probes: flags.probes ?? false,
    containerd,
    json: flags.json,
    strict: flags.strict ?? false,
    cpuProfile: flags["cpu-profile"] === undefined ? undefined : resolve(flags["cpu-profile"]),
    guest: flags.guest ?? false,
  };
}

/** The guest has this checkout and the cache, and keeps no files. */
function refuseForGuest(flags: ReturnType<typeof read>): void {
  const refused = (["cluster", "json", "cpu-profile"] as const).find((name) => flags[name]);
  if (refused !== undefined)
    throw new UsageProblem(`--guest and --${refused}: only one of them can be given`);
  for (const subject of subjectsOf(flags.kubelet ?? []))
    if (subject.kind === "binary")
      throw new UsageProblem(`--guest --kubelet ${subject.path}: the guest has no other programs`);
}

function read(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        kubelet: { type: "string", multiple: true },
        rounds: { type: "string" },
        pods: { type: "string" },
        singles: { type: "string" },
        "idle-seconds": { type: "string" },
        containerd: { type: "string" },
        json: { type: "string" },
        "cpu-profile": { type: "string" },
        cluster: { type: "boolean" },
        probes: { type: "boolean" },
        strict: { type: "boolean" },
        quick: { type: "boolean" },
        guest: { type: "boolean" },
      },
    });
    return values;
  } catch (error) {
    throw new UsageProblem(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}

function count(name: keyof typeof MOST, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= MOST[name]) return value;
  throw new UsageProblem(`--${name} ${text}: a number from 1 to ${MOST[name]} is needed`);
}

function subjectsOf(specs: readonly string[]): Subject[] {
  const subjects = specs.map(subjectOf);
  for (const { label } of subjects)
    if (subjects.filter((other) => other.label === label).length > 1)
      throw new UsageProblem(`two kubelets are called ${label}: give labels, --kubelet LABEL=PATH`);
  return subjects;
}

function subjectOf(spec: string): Subject {
  const [, label, path] = /^([\w.-]+)=(.+)$/.exec(spec) ?? [undefined, undefined, spec];
  if (path === "nodelet") return { kind: "checkout", label: label ?? path };
  if (path !== undefined && isGoKubelet(path))
    return { kind: "go", label: label ?? path, program: GO_KUBELETS[path] };
  if (path === undefined || path === "")
    throw new UsageProblem("--kubelet expects a path, nodelet, go or go-1.36");
  return { kind: "binary", label: label ?? basename(path), path: resolve(path) };
}

const isGoKubelet = (name: string): name is GoKubeletName => Object.hasOwn(GO_KUBELETS, name);
