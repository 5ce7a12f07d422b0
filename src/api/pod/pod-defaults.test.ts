import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod, PodSpec, Volume } from "../generated/types.ts";
import { defaultPod } from "./pod-defaults.ts";
import { podLevelResources, withPodLevelDefaults } from "./resource-defaults.ts";

const specOf = (spec: Partial<PodSpec>): PodSpec => {
  const { spec: completed } = defaultPod({ spec: { containers: [], ...spec } });
  assert.ok(completed);
  return completed;
};
const containerOf = (fields: Partial<Container>, spec: Partial<PodSpec> = {}): Container => {
  const [container] = specOf({ ...spec, containers: [{ name: "c", ...fields }] }).containers;
  assert.ok(container);
  return container;
};
const volumeOf = (source: Omit<Volume, "name">): Volume | undefined =>
  specOf({ volumes: [{ name: "v", ...source }] }).volumes?.[0];

test("defaultPod: an empty pod", () => {
  assert.deepEqual(defaultPod({ spec: { containers: [{ name: "c", image: "nginx" }] } }), {
    spec: {
      containers: [
        {
          name: "c",
          image: "nginx",
          imagePullPolicy: "Always",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      dnsPolicy: "ClusterFirst",
      enableServiceLinks: true,
      restartPolicy: "Always",
      schedulerName: "default-scheduler",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    },
  });
  assert.deepEqual(defaultPod({ metadata: { name: "a" } }), { metadata: { name: "a" } });
});

test("defaultPod: given values stay", () => {
  const spec: PodSpec = {
    containers: [],
    dnsPolicy: "None",
    enableServiceLinks: false,
    restartPolicy: "Never",
    schedulerName: "mine",
    securityContext: { runAsUser: 1 },
    terminationGracePeriodSeconds: 0,
  };
  assert.deepEqual(specOf(spec), spec);
  assert.equal(specOf({ serviceAccount: "a" }).serviceAccountName, "a");
  assert.equal(specOf({ serviceAccount: "a", serviceAccountName: "b" }).serviceAccount, "b");
});

test("defaultPod: probes, hooks, ports, environment", () => {
  const container = containerOf({
    livenessProbe: { httpGet: { port: 80 } },
    readinessProbe: { grpc: { port: 81 }, timeoutSeconds: 5, periodSeconds: 0 },
    startupProbe: { tcpSocket: { port: 82 }, failureThreshold: 9 },
    lifecycle: {
      postStart: { httpGet: { port: 1, path: "/x", scheme: "HTTPS" } },
      preStop: { httpGet: { port: 2 } },
    },
    ports: [{ containerPort: 80 }, { containerPort: 53, protocol: "UDP" }],
    env: [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "B", value: "" },
    ],
  });
  const timing = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  assert.deepEqual(container.livenessProbe, {
    ...timing,
    httpGet: { port: 80, path: "/", scheme: "HTTP" },
  });
  assert.deepEqual(container.readinessProbe, {
    ...timing,
    timeoutSeconds: 5,
    grpc: { port: 81, service: "" },
  });
  assert.deepEqual(container.startupProbe, {
    ...timing,
    failureThreshold: 9,
    tcpSocket: { port: 82 },
  });
  assert.deepEqual(container.lifecycle, {
    postStart: { httpGet: { port: 1, path: "/x", scheme: "HTTPS" } },
    preStop: { httpGet: { port: 2, path: "/", scheme: "HTTP" } },
  });
  assert.deepEqual(container.ports, [
    { containerPort: 80, protocol: "TCP" },
    { containerPort: 53, protocol: "UDP" },
  ]);
  assert.deepEqual(container.env, [
    { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } },
    { name: "B", value: "" },
  ]);
});

test("defaultPod: host network ports, of regular and init containers only", () => {
  const ports = [{ containerPort: 80 }, { containerPort: 81, hostPort: 9000 }];
  const spec = specOf({
    hostNetwork: true,
    containers: [{ name: "a", ports }],
    initContainers: [{ name: "b", ports }],
    ephemeralContainers: [{ name: "d", ports }],
  });
  const hostPorts = (container: Pick<Container, "ports"> | undefined) =>
    container?.ports?.map(({ hostPort }) => hostPort);
  assert.deepEqual(hostPorts(spec.containers[0]), [80, 9000]);
  assert.deepEqual(hostPorts(spec.initContainers?.[0]), [80, 9000]);
  assert.deepEqual(hostPorts(spec.ephemeralContainers?.[0]), [undefined, 9000]);
  assert.equal(spec.ephemeralContainers?.[0]?.terminationMessagePolicy, "File");
});

test("defaultPod: requests from limits, rounding to thousandths", () => {
  assert.deepEqual(
    containerOf({
      resources: { limits: { cpu: "1", "hugepages-2Mi": "4Mi" }, requests: { cpu: "0.0001" } },
    }).resources,
    {
      limits: { cpu: "1", "hugepages-2Mi": "4Mi" },
      requests: { cpu: "1m", "hugepages-2Mi": "4Mi" },
    },
  );
  assert.deepEqual(containerOf({ resources: {} }).resources, {});
  assert.deepEqual(specOf({ overhead: { cpu: "0.00011" } }).overhead, { cpu: "1m" });
});

type Own = PodSpec["resources"];

const POD_LEVEL: readonly {
  readonly what: string;
  readonly containers: readonly Container["resources"][];
  readonly own: Own;
  /** By the API server of 1.37, and for static pods by the kubelet of 1.36. */
  readonly filled: Own;
  readonly filledBefore?: Own;
}[] = [
  {
    what: "requests from containers, the rest from limits",
    containers: [{ requests: { cpu: "500m" } }],
    own: { limits: { cpu: "2", memory: "1Gi" } },
    filled: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } },
  },
  {
    what: "huge pages limits from containers",
    containers: [{ limits: { "hugepages-2Mi": "4Mi" } }],
    own: { limits: { cpu: "1" } },
    filled: {
      limits: { cpu: "1", "hugepages-2Mi": "4Mi" },
      requests: { cpu: "1", "hugepages-2Mi": "4Mi" },
    },
  },
  {
    what: "nothing reported, nothing filled in",
    containers: [{ limits: { cpu: "1" } }],
    own: {},
    filled: {},
  },
  {
    what: "requests alone stay where containers say nothing",
    containers: [{}],
    own: { requests: { memory: "1Gi" } },
    filled: { requests: { memory: "1Gi" } },
  },
  {
    what: "requests of containers beside others of the pod",
    containers: [{ requests: { cpu: "250m" } }, { requests: { cpu: "250m" } }],
    own: { requests: { memory: "1Gi" } },
    filled: { requests: { cpu: "500m", memory: "1Gi" } },
    filledBefore: { requests: { memory: "1Gi" } },
  },
  {
    what: "limits that every container has, at least what is requested",
    containers: [{ limits: { cpu: "1", memory: "1Gi" } }, { limits: { cpu: "2", memory: "1Gi" } }],
    own: { requests: { cpu: "4", memory: "1Gi" } },
    filled: { requests: { cpu: "4", memory: "1Gi" }, limits: { cpu: "4", memory: "2Gi" } },
    filledBefore: { requests: { cpu: "4", memory: "1Gi" } },
  },
  {
    what: "no limit that one container has not",
    containers: [{ limits: { cpu: "1" } }, {}],
    own: { requests: { cpu: "4" } },
    filled: { requests: { cpu: "4" } },
  },
];

for (const { what, containers, own, filled, filledBefore = filled } of POD_LEVEL)
  test(`withPodLevelDefaults: ${what}`, () => {
    const named = containers.map((resources, i) => ({
      name: `c${i}`,
      ...(resources ? { resources } : {}),
    }));
    const pod = defaultPod({ spec: { containers: named, ...(own ? { resources: own } : {}) } });
    assert.deepEqual(pod.spec?.resources, own, "the kubelet's defaults leave it");
    const done = withPodLevelDefaults(pod);
    assert.deepEqual(done.spec?.resources, filled);
    assert.deepEqual(withPodLevelDefaults(done), done);
    assert.deepEqual(podLevelResources(pod), filledBefore);
  });

test("defaultPod: volumes", () => {
  const table: readonly [Omit<Volume, "name">, Omit<Volume, "name">][] = [
    [{}, { emptyDir: {} }],
    [{ secret: { secretName: "s" } }, { secret: { secretName: "s", defaultMode: 420 } }],
    [{ configMap: { name: "s", defaultMode: 0 } }, { configMap: { name: "s", defaultMode: 0 } }],
    [{ hostPath: { path: "/x" } }, { hostPath: { path: "/x", type: "" } }],
    [{ image: { reference: "a" } }, { image: { reference: "a", pullPolicy: "Always" } }],
    [
      { downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "metadata.uid" } }] } },
      {
        downwardAPI: {
          defaultMode: 420,
          items: [{ path: "p", fieldRef: { apiVersion: "v1", fieldPath: "metadata.uid" } }],
        },
      },
    ],
    [
      {
        projected: {
          sources: [
            { serviceAccountToken: { path: "token" } },
            { downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "metadata.uid" } }] } },
            { configMap: { name: "x" } },
          ],
        },
      },
      {
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
            {
              downwardAPI: {
                items: [{ path: "p", fieldRef: { apiVersion: "v1", fieldPath: "metadata.uid" } }],
              },
            },
            { configMap: { name: "x" } },
          ],
        },
      },
    ],
    [
      {
        ephemeral: {
          volumeClaimTemplate: { spec: { resources: { requests: { storage: "1Gi" } } } },
        },
      },
      {
        ephemeral: {
          volumeClaimTemplate: {
            spec: { resources: { requests: { storage: "1Gi" } }, volumeMode: "Filesystem" },
          },
        },
      },
    ],
    [
      { iscsi: { iqn: "i", lun: 0, targetPortal: "p" } },
      { iscsi: { iqn: "i", lun: 0, targetPortal: "p", iscsiInterface: "default" } },
    ],
    [
      { rbd: { image: "i", monitors: [] } },
      {
        rbd: { image: "i", monitors: [], pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" },
      },
    ],
    [{ nfs: { path: "/", server: "s" } }, { nfs: { path: "/", server: "s" } }],
  ];
  for (const [before, after] of table) assert.deepEqual(volumeOf(before), { name: "v", ...after });
});

test("defaultPod: leaves its argument alone and is done after one time", () => {
  const pod: Pod = {
    spec: {
      hostNetwork: true,
      containers: [
        { name: "c", ports: [{ containerPort: 1 }], resources: { limits: { cpu: "1" } } },
      ],
      volumes: [{ name: "v" }],
      resources: { requests: { cpu: "1" } },
    },
  };
  const before = structuredClone(pod);
  const once = defaultPod(pod);
  assert.deepEqual(pod, before);
  assert.deepEqual(defaultPod(once), once);
});
