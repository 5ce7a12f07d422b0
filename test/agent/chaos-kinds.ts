/** The pods of the chaos: each kind with what its spec asks for in the end. */
import type { Container, Pod, PodSpec } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { WAIT_FOREVER } from "../support/stay.ts";

/** What the spec asks for once nobody disturbs any more. */
export type End =
  /** Running, with every container running and ready. */
  | "runs"
  | "succeeds"
  | "fails"
  /** Failed with the reason DeadlineExceeded. */
  | "times out";

/** One kind of pods. */
export interface PodKind {
  readonly name: string;
  /** A manifest in the agent's folder, or an object of the API. */
  readonly source: "static" | "api";
  readonly spec: PodSpec;
  readonly end: End;
  /** Whether a killed container stays dead, so that the pod may also end as Failed. */
  readonly fragile?: boolean;
}

/** Folder on the machine where every container writes down that it started: `starts`, one line each. */
export const NOTES = "/run/tmp/chaos";
/** The objects that pods of the API use. */
export const OBJECTS = {
  configmaps: { metadata: { name: "settings" }, data: { colour: "blue" } },
  secrets: { metadata: { name: "key" }, stringData: { key: "hush" } },
} as const;

const NOTE = 'echo "$POD_UID $NAME" >>/chaos/starts';
const stay = (code: number) => `${NOTE}; trap 'exit ${code}' TERM; ${WAIT_FOREVER}`;

/** A container that says that it started and then does what `script` says. */
function container(name: string, script: string, more: Partial<Container> = {}): Container {
  const { volumeMounts = [], env = [], ...rest } = more;
  return {
    name,
    image: TEST_IMAGE,
    imagePullPolicy: "IfNotPresent",
    command: ["sh", "-c", script],
    env: [
      { name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
      { name: "NAME", value: name },
      ...env,
    ],
    volumeMounts: [{ name: "chaos", mountPath: "/chaos" }, ...volumeMounts],
    ...rest,
  };
}

/** A pod of these containers, with the folder for notes. */
function spec(containers: readonly Container[], more: Partial<PodSpec> = {}): PodSpec {
  const { volumes = [], ...rest } = more;
  return {
    terminationGracePeriodSeconds: 2,
    ...rest,
    containers,
    volumes: [{ name: "chaos", hostPath: { path: NOTES, type: "DirectoryOrCreate" } }, ...volumes],
  };
}

const SERVE = `${NOTE}; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait $!`;
const http = { httpGet: { path: "/", port: 8080 }, periodSeconds: 2, failureThreshold: 2 };
const WORK = { name: "work", mountPath: "/work" };
const EMPTY = { name: "work", emptyDir: {} };

const KINDS: readonly PodKind[] = [
  {
    name: "web",
    source: "static",
    end: "runs",
    spec: spec(
      [
        container("main", SERVE, {
          readinessProbe: http,
          livenessProbe: http,
          volumeMounts: [WORK, { name: "about", mountPath: "/about" }],
        }),
      ],
      {
        volumes: [
          EMPTY,
          {
            name: "about",
            downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] },
          },
        ],
      },
    ),
  },
  {
    name: "sidecar",
    source: "static",
    end: "runs",
    spec: spec(
      [container("main", `test -s /work/prepared && ${stay(0)}`, { volumeMounts: [WORK] })],
      {
        volumes: [EMPTY],
        initContainers: [
          container("prepare", `${NOTE}; echo yes >/work/prepared`, { volumeMounts: [WORK] }),
          container("beside", SERVE, { restartPolicy: "Always", startupProbe: http }),
        ],
      },
    ),
  },
  {
    name: "onfailure",
    source: "static",
    end: "runs",
    spec: spec([container("main", stay(1))], { restartPolicy: "OnFailure" }),
  },
  {
    name: "never",
    source: "static",
    end: "runs",
    fragile: true,
    spec: spec([container("main", stay(0)), container("other", stay(0))], {
      restartPolicy: "Never",
    }),
  },
  {
    name: "job",
    source: "static",
    end: "succeeds",
    fragile: true,
    spec: spec([container("main", `${NOTE}; sleep 8`)], { restartPolicy: "Never" }),
  },
  {
    name: "retry",
    source: "api",
    end: "succeeds",
    spec: spec(
      [
        container("main", `${NOTE}; echo x >>/work/n; sleep 1; test $(wc -l </work/n) -ge 3`, {
          volumeMounts: [WORK],
        }),
      ],
      { restartPolicy: "OnFailure", volumes: [EMPTY] },
    ),
  },
  {
    name: "fails",
    source: "api",
    end: "fails",
    spec: spec([container("main", `${NOTE}; sleep 2; exit 3`)], { restartPolicy: "Never" }),
  },
  {
    name: "hooks",
    source: "static",
    end: "runs",
    spec: spec(
      [
        container("main", stay(0), {
          lifecycle: {
            postStart: { exec: { command: ["sh", "-c", "echo up >/work/hook"] } },
            preStop: { exec: { command: ["sh", "-c", "sleep 1; echo down >/work/hook"] } },
          },
          volumeMounts: [WORK],
        }),
      ],
      { terminationGracePeriodSeconds: 5, volumes: [EMPTY] },
    ),
  },
  {
    name: "slow",
    source: "static",
    end: "runs",
    spec: spec([container("main", `${NOTE}; exec end-slowly 4`)], {
      terminationGracePeriodSeconds: 20,
    }),
  },
  {
    name: "hostnet",
    source: "static",
    end: "runs",
    spec: spec([container("main", stay(0))], { hostNetwork: true }),
  },
  {
    name: "shared",
    source: "static",
    end: "runs",
    spec: spec([container("main", stay(0)), container("other", stay(0))], {
      shareProcessNamespace: true,
    }),
  },
  {
    name: "sick",
    source: "static",
    end: "runs",
    spec: spec(
      [
        container("main", `n=$(cat /work/n 2>/dev/null); echo $((n+1)) >/work/n; ${stay(0)}`, {
          livenessProbe: {
            exec: { command: ["sh", "-c", "test $(cat /work/n) -gt 1"] },
            periodSeconds: 4,
            failureThreshold: 1,
          },
          volumeMounts: [WORK],
        }),
      ],
      { volumes: [EMPTY] },
    ),
  },
  {
    name: "memory",
    source: "api",
    end: "runs",
    spec: spec(
      [
        container("main", stay(0), {
          volumeMounts: [WORK, { name: "work", mountPath: "/part", subPath: "a/part" }],
          resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
        }),
      ],
      { volumes: [{ name: "work", emptyDir: { medium: "Memory" } }] },
    ),
  },
  {
    name: "stubborn",
    source: "static",
    end: "runs",
    spec: spec([container("main", `${NOTE}; trap '' TERM; ${WAIT_FOREVER}`)], {
      terminationGracePeriodSeconds: 1,
    }),
  },
  {
    name: "deadline",
    source: "static",
    end: "times out",
    spec: spec([container("main", stay(1))], {
      activeDeadlineSeconds: 15,
      restartPolicy: "OnFailure",
    }),
  },
  {
    name: "objects",
    source: "api",
    end: "runs",
    spec: spec(
      [
        container("main", `test "$(cat /etc/key/key)$COLOUR" = hushblue && ${stay(0)}`, {
          env: [
            {
              name: "COLOUR",
              valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } },
            },
          ],
          volumeMounts: [
            { name: "key", mountPath: "/etc/key" },
            { name: "settings", mountPath: "/etc/settings" },
          ],
        }),
        container("web", SERVE, { readinessProbe: http }),
      ],
      {
        volumes: [
          { name: "key", secret: { secretName: "key" } },
          { name: "settings", configMap: { name: "settings" } },
        ],
      },
    ),
  },
];

/** The kind of the n-th pod: all kinds in turn. */
export function kindOf(n: number): PodKind {
  return KINDS[n % KINDS.length] as PodKind;
}

/** The kind of that name; throws when there is none. */
export function kindNamed(name: string): PodKind {
  const found = KINDS.find((kind) => kind.name === name);
  if (!found) throw new Error(`no kind ${name}`);
  return found;
}

/** The pod as its source has it. */
export function podOfKind(kind: PodKind, name: string): Pod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: kind.spec };
}

/** What happened to a pod meanwhile, as far as its end depends on it. */
export interface Story {
  /** One of its containers or its sandbox was killed. */
  readonly hit: boolean;
  /** The runtime was killed, which may take a start that is under way with it. */
  readonly runtimeDied: boolean;
}

/** What is wrong with the pod's state; `undefined` when it is what the spec asks for. */
export function faultOf(kind: PodKind, pod: Pod, story: Story): string | undefined {
  const { phase, reason } = pod.status ?? {};
  const ended = phase === "Failed" || phase === "Succeeded";
  if (kind.fragile && ended && (story.hit || isStillborn(pod, story))) return undefined;
  switch (kind.end) {
    case "succeeds":
      return phase === "Succeeded" ? undefined : `is ${phase}, not Succeeded`;
    case "fails":
      return phase === "Failed" ? undefined : `is ${phase}, not Failed`;
    case "times out":
      return phase === "Failed" && reason === "DeadlineExceeded"
        ? undefined
        : `is ${phase} ${reason ?? ""}, not out of time`;
    case "runs":
      return runFault(pod, kind.fragile === true && story.hit);
    default:
      return kind.end satisfies never;
  }
}

/**
 * A container that the runtime was about to start when it died is seen as ended, though it never ran; one whose start
 * it gave up when the agent died may have run.
 */
function isStillborn(pod: Pod, { runtimeDied }: Story): boolean {
  return (pod.status?.containerStatuses ?? []).some(({ state }) => {
    const { exitCode, reason, message = "" } = state?.terminated ?? {};
    const wasGivenUp = reason === "StartError" && GIVEN_UP.test(message);
    return wasGivenUp || (runtimeDied && [255, 128, 137].includes(exitCode ?? 0));
  });
}

const GIVEN_UP = /^failed to start containerd task .*context canceled/;

/** `mayBeDead`: a killed container that is not started again is all right. */
function runFault({ status, spec: wanted }: Pod, mayBeDead: boolean): string | undefined {
  if (status?.phase !== "Running")
    return `is ${status?.phase} ${status?.reason ?? ""}, not Running`;
  const sidecars = (wanted?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy);
  const names = [...(wanted?.containers ?? []), ...sidecars].map(({ name }) => name);
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const down = names.filter((name) => {
    const found = all.find((each) => each.name === name);
    if (mayBeDead && found?.state?.terminated) return false;
    return found?.state?.running === undefined || found.ready !== true;
  });
  return down.length === 0 ? undefined : `${down.join(", ")} not ready`;
}
