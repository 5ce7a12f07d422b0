// The kinds of pods of the simulation, and their manifests.
import { cpuResources } from "./exclusive-cpus.ts";
import { VOLUME_MOUNTS, VOLUMES } from "./pod-volumes.ts";
import { commandOf, type Program } from "./programs.ts";

/** What is to become of a pod once everything is calm. */
export type Fate = "running" | "looping" | "succeeded" | "failed";

/** A kind of pod and what becomes of it. */
export interface Template {
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly init: readonly (Program & { readonly sidecar?: boolean })[];
  readonly containers: readonly (Program & { readonly restartsAll?: boolean })[];
  readonly becomes: Fate;
  /** With ids of their own. */
  readonly ownIds?: boolean;
  /** Liveness probes that fail. */
  readonly sick?: boolean;
  /** It may have ended: an agent that was killed as it replaced a container judges that by its exit code. */
  readonly mayEnd?: boolean;
}

const SLEEP: Program = { kind: "sleep" };
const STUBBORN: Program = { kind: "stubborn" };
const POLITE: Program = { kind: "polite" };
const exits = (code: number, afterMs: number): Program => ({ kind: "exit", code, afterMs });

const RESTART_ALL_CODE = 42;
/** A container that has all containers of its pod restarted by its end. */
const RESTART_ALL = {
  restartPolicy: "Never",
  restartPolicyRules: [
    { action: "RestartAllContainers", exitCodes: { operator: "In", values: [RESTART_ALL_CODE] } },
  ],
};

/** One pod of each kind. */
export const TEMPLATES: readonly Template[] = [
  { restartPolicy: "Always", init: [], containers: [SLEEP], becomes: "running" },
  { restartPolicy: "Always", init: [], containers: [SLEEP, STUBBORN], becomes: "running" },
  {
    restartPolicy: "Always",
    init: [exits(0, 700)],
    containers: [SLEEP],
    becomes: "running",
    ownIds: true,
  },
  {
    restartPolicy: "Always",
    init: [{ ...SLEEP, sidecar: true }, exits(0, 300)],
    containers: [SLEEP],
    becomes: "running",
  },
  { restartPolicy: "Always", init: [], containers: [SLEEP, exits(1, 2_000)], becomes: "looping" },
  { restartPolicy: "OnFailure", init: [], containers: [exits(0, 5_000)], becomes: "succeeded" },
  {
    restartPolicy: "OnFailure",
    init: [{ ...SLEEP, sidecar: true }],
    containers: [exits(0, 3_000)],
    becomes: "succeeded",
  },
  { restartPolicy: "Never", init: [], containers: [exits(3, 4_000)], becomes: "failed" },
  { restartPolicy: "Never", init: [exits(2, 500)], containers: [SLEEP], becomes: "failed" },
  { restartPolicy: "Always", init: [], containers: [SLEEP], becomes: "looping", sick: true },
  {
    restartPolicy: "Always",
    init: [{ ...SLEEP, sidecar: true }, exits(0, 300)],
    containers: [STUBBORN, { ...exits(RESTART_ALL_CODE, 4_000), restartsAll: true }],
    becomes: "looping",
  },
];

/** Pods whose containers the agent stops and starts again although their policy lets what has ended lie. */
export const REPLACED_TEMPLATES: readonly Template[] = [
  {
    restartPolicy: "OnFailure",
    init: [],
    containers: [POLITE],
    becomes: "running",
    mayEnd: true,
    sick: true,
  },
  {
    restartPolicy: "OnFailure",
    init: [exits(0, 300)],
    containers: [POLITE],
    becomes: "running",
    mayEnd: true,
  },
  {
    restartPolicy: "Never",
    init: [],
    containers: [POLITE, SLEEP],
    becomes: "running",
    mayEnd: true,
  },
];

const probeOf = (code: number, periodSeconds: number) => ({
  exec: { command: commandOf(exits(code, 0)) },
  periodSeconds,
  timeoutSeconds: 60,
});

/** Probes of a container that answers well, but for the liveness of a sick one. */
function probesOf(sick: boolean, graceSeconds: number) {
  return {
    startupProbe: probeOf(0, 1),
    readinessProbe: probeOf(0, 7),
    livenessProbe: { ...probeOf(sick ? 1 : 0, 11), terminationGracePeriodSeconds: graceSeconds },
  };
}

/** What a manifest says beside its template. */
interface Details {
  readonly graceSeconds: number;
  readonly revision: number;
  readonly probed: boolean;
  /** Guaranteed, with CPUs of its own. */
  readonly ownCpus?: boolean;
}

/** The text of a manifest. */
export function manifest(
  name: string,
  { restartPolicy, init, containers, sick = false, ownIds = false }: Template,
  { graceSeconds, revision, probed, ownCpus = false }: Details,
): string {
  const probes = probed || sick ? probesOf(sick, graceSeconds) : {};
  const container =
    (prefix: string) =>
    (
      program: Program & { readonly sidecar?: boolean; readonly restartsAll?: boolean },
      i: number,
    ) => ({
      name: `${prefix}${i}`,
      image: "nodelet.test/nodelet-test:1",
      command: commandOf(program),
      env: [{ name: "REVISION", value: String(revision) }],
      ...(program.sidecar ? { restartPolicy: "Always" } : {}),
      ...(program.restartsAll ? RESTART_ALL : {}),
      ...(ownCpus ? cpuResources(`${prefix}${i}`, program.sidecar === true) : {}),
      volumeMounts: VOLUME_MOUNTS,
      ...(program.sidecar || prefix === "c" ? probes : {}),
    });
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      restartPolicy,
      ...(ownIds ? { hostUsers: false } : {}),
      terminationGracePeriodSeconds: graceSeconds,
      initContainers: init.map(container("i")),
      containers: containers.map(container("c")),
      volumes: VOLUMES,
    },
  });
}
