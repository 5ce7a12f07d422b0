import { commandOf, type Program } from "./programs.ts";

/** A resource of 8 devices. */
export const GPU = "v.com/gpu";
/** A resource of 4. */
export const NIC = "v.com/nic";

/** A container that requests `gpu` and `nic` devices. */
export interface Part {
  readonly program: Program;
  readonly gpu?: number;
  readonly nic?: number;
  readonly sidecar?: boolean;
}

/** Containers of a pod. */
export interface Template {
  readonly init: readonly Part[];
  readonly containers: readonly Part[];
  readonly finite?: boolean;
}

const SLEEP: Program = { kind: "sleep" };
const exits = (code: number, afterMs: number): Program => ({ kind: "exit", code, afterMs });

/** Pods of the histories. */
export const TEMPLATES: readonly Template[] = [
  { init: [], containers: [{ program: SLEEP, gpu: 1 }] },
  { init: [], containers: [{ program: SLEEP, gpu: 2, nic: 1 }] },
  {
    init: [],
    containers: [
      { program: SLEEP, gpu: 1 },
      { program: SLEEP, gpu: 1, nic: 1 },
    ],
  },
  { init: [{ program: exits(0, 900), gpu: 2 }], containers: [{ program: SLEEP, gpu: 1 }] },
  {
    init: [
      { program: exits(0, 500), gpu: 1 },
      { program: SLEEP, gpu: 1, sidecar: true },
    ],
    containers: [{ program: SLEEP, nic: 1 }],
  },
  { init: [{ program: exits(0, 300), nic: 2 }], containers: [{ program: SLEEP }] },
  { init: [], containers: [{ program: exits(0, 6_000), gpu: 2 }], finite: true },
  { init: [], containers: [{ program: SLEEP }] },
];

/** What the container requests of each resource. */
export function amountsOf({ gpu = 0, nic = 0 }: Part): readonly (readonly [string, number])[] {
  return [
    [GPU, gpu],
    [NIC, nic],
  ];
}

/** Devices that a running pod of the template owns. */
export function need({ init, containers }: Template, resource: string, keepInit: boolean): number {
  const of = (part: Part) => (resource === GPU ? part.gpu : part.nic) ?? 0;
  const sum = (parts: readonly Part[]) => parts.reduce((total, part) => total + of(part), 0);
  const lasting = sum([...init.filter(({ sidecar }) => sidecar === true), ...containers]);
  return keepInit ? Math.max(lasting, ...init.map(of)) : lasting;
}

/** The manifest of a pod; `revision` makes it another one. */
export function manifest(
  name: string,
  { init, containers, finite }: Template,
  revision: number,
): string {
  const container =
    (prefix: string) =>
    ({ program, gpu, nic, sidecar }: Part, i: number) => ({
      name: `${prefix}${i}`,
      image: "nodelet.test/nodelet-test:1",
      command: commandOf(program),
      env: [{ name: "REVISION", value: String(revision) }],
      resources: {
        limits: { ...(gpu ? { [GPU]: String(gpu) } : {}), ...(nic ? { [NIC]: String(nic) } : {}) },
      },
      ...(sidecar === true ? { restartPolicy: "Always" } : {}),
    });
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      restartPolicy: finite === true ? "OnFailure" : "Always",
      terminationGracePeriodSeconds: 2,
      initContainers: init.map(container("i")),
      containers: containers.map(container("c")),
    },
  });
}
