import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "../generated/types.ts";
import { podWarnings } from "./pod-warnings.ts";

const fractional = (path: string, text: string) =>
  `${path}: fractional byte value "${text}" is invalid, must be an integer`;
const of = (more: object, name = "a") => ({ containers: [{ name, image: "i", ...more }] });
const amounts = (memory: string) => of({ resources: { limits: { memory } } });
const LIMIT = "spec.containers[0].resources.limits[memory]";
const port = (containerPort: number, more: object = {}) => ({ containerPort, ...more });
const env = (name: string, value: string) => ({ name, value });
const HIDES = 'hides previous definition of "A", which may be dropped when using apply';

/** A spec, and what the API warns of. */
const ROWS: readonly (readonly [string, Partial<PodSpec> | object, readonly string[]])[] = [
  ["nothing", of({}), []],
  ["128Mi", amounts("128Mi"), []],
  ["128m", amounts("128m"), [fractional(LIMIT, "128m")]],
  ["0.5", amounts("0.5"), [fractional(LIMIT, "500m")]],
  ["0.1Ki", amounts("0.1Ki"), [fractional(LIMIT, "102400m")]],
  ["1000m", amounts("1000m"), []],
  ["9Ei", amounts("9Ei"), []],
  [
    "requests, ephemeral storage, init containers, overhead",
    {
      overhead: { memory: "1500m" },
      initContainers: [{ name: "i", resources: { requests: { "ephemeral-storage": "1m" } } }],
      ...of({ resources: { requests: { memory: "1u", cpu: "1m" } } }),
    },
    [
      fractional("spec.overhead[memory]", "1500m"),
      fractional("spec.initContainers[0].resources.requests[ephemeral-storage]", "1m"),
      fractional("spec.containers[0].resources.requests[memory]", "1u"),
    ],
  ],
  [
    "old labels",
    { ...of({}), nodeSelector: { "beta.kubernetes.io/os": "linux", "kubernetes.io/os": "linux" } },
    [
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
  ],
  [
    "volumes that are gone",
    {
      ...of({}),
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "b", glusterfs: {} },
      ],
    },
    ["spec.volumes[1].glusterfs: deprecated in v1.25, non-functional in v1.26+"],
  ],
  [
    "names twice",
    {
      ...of({}),
      hostAliases: [{ ip: "192.0.2.1" }, { ip: "192.0.2.1" }],
      imagePullSecrets: [{ name: "s" }, { name: "s" }, { name: "" }],
    },
    [
      'spec.hostAliases[1].ip: duplicate ip "192.0.2.1"',
      'spec.imagePullSecrets[1].name: duplicate name "s"',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
    ],
  ],
  [
    "a variable twice",
    of({ env: [env("A", "1"), env("A", "2")] }),
    [`spec.containers[0].env[1]: ${HIDES}`],
  ],
  ["a variable that builds upon itself", of({ env: [env("A", "1"), env("A", "$(A)2")] }), []],
  [
    "a variable that is itself",
    of({ env: [env("A", "1"), env("A", "$(A)")] }),
    [`spec.containers[0].env[1]: ${HIDES}`],
  ],
  [
    "ports",
    of({
      ports: [
        port(80),
        port(80),
        port(80, { hostPort: 8080 }),
        port(80, { protocol: "UDP", name: "x" }),
        port(81, { name: "x" }),
      ],
    }),
    [
      "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
      "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
      "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]",
      'spec.containers[0].ports[4]: duplicate port name "x" with spec.containers[0].ports[3], services and probes that select ports by name will use spec.containers[0].ports[3]',
    ],
  ],
  [
    "one host port on one address and on all",
    of({
      ports: [port(80, { hostPort: 80 }), port(80, { hostPort: 80, hostIP: "192.0.2.1" })],
    }),
    [
      "spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]",
    ],
  ],
  [
    "a negative grace period",
    { ...of({}), terminationGracePeriodSeconds: -1 },
    [
      "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
    ],
  ],
  [
    "selectors that are missing",
    {
      ...of({}),
      topologySpreadConstraints: [{ topologyKey: "beta.kubernetes.io/arch" }],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "k" }],
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: "k" } },
          ],
        },
      },
    },
    [
      'spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
    ],
  ],
];

for (const [what, spec, expected] of ROWS)
  test(`podWarnings: ${what}`, () => {
    assert.deepEqual(podWarnings({ spec } as unknown as Pod), expected);
  });

test("podWarnings: annotations that say nothing any more", () => {
  const annotations = {
    "scheduler.alpha.kubernetes.io/critical-pod": "",
    "container.seccomp.security.alpha.kubernetes.io/a": "unconfined",
    "container.seccomp.security.alpha.kubernetes.io/other": "unconfined",
  };
  assert.deepEqual(podWarnings({ metadata: { annotations }, spec: of({}) } as Pod), [
    'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
    'metadata.annotations[container.seccomp.security.alpha.kubernetes.io/a]: non-functional in v1.27+; use the "seccompProfile" field instead',
  ]);
});
