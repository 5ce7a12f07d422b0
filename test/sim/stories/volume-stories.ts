// Pods whose volumes or variables are not to be had.
import type { Container, Volume } from "../../../src/api/generated/types.ts";
import { container, type Play, pod, SLEEP, type Story } from "./story.ts";

const MOUNTED = [container(SLEEP, { volumeMounts: [{ name: "data", mountPath: "/data" }] })];

/** A pod that mounts this. */
const mounting = (volume: Omit<Volume, "name">) =>
  pod({ containers: MOUNTED, volumes: [{ name: "data", ...volume }] });

/** A pod whose container has variables. */
const withEnv = (more: Partial<Container>) => pod({ containers: [container(SLEEP, more)] });

const CLAIM = mounting({ persistentVolumeClaim: { claimName: "store" } });
const claim = (spec: object, phase: string) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "store" },
  spec,
  status: { phase },
});
const SIZE = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
const ASKED = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
/** A claim that is bound to a volume of this kind. */
const bound =
  (name: string, spec: object): Play =>
  async (node) => {
    await node.bindVolume(
      { metadata: { name }, spec: { ...SIZE, ...spec } },
      claim({ ...ASKED, volumeName: name, storageClassName: "" }, "Bound"),
    );
    node.create();
    await node.pass(30);
  };

export const VOLUME_STORIES: readonly Story[] = [
  {
    name: "a ConfigMap that it mounts does not exist",
    pod: mounting({ configMap: { name: "settings" } }),
  },
  {
    name: "a ConfigMap that it mounts is created a minute later",
    pod: mounting({ configMap: { name: "settings" } }),
    play: async (node) => {
      node.create();
      await node.pass(60);
      node.put("configmaps", { metadata: { name: "settings" }, data: { a: "1" } });
      await node.pass(20);
    },
  },
  {
    name: "a ConfigMap that it mounts is missing a key",
    pod: mounting({ configMap: { name: "settings", items: [{ key: "b", path: "b" }] } }),
    play: async (node) => {
      node.put("configmaps", { metadata: { name: "settings" }, data: { a: "1" } });
      node.create();
      await node.pass(30);
    },
  },
  {
    name: "a Secret that it mounts does not exist",
    pod: mounting({ secret: { secretName: "keys" } }),
  },
  {
    name: "a Secret is missing for longer than volumes are waited for",
    pod: mounting({ secret: { secretName: "keys" } }),
    play: async (node) => {
      node.create();
      await node.pass(300);
    },
  },
  { name: "its PersistentVolumeClaim does not exist", pod: CLAIM },
  {
    name: "its PersistentVolumeClaim is not bound",
    pod: CLAIM,
    play: async (node) => {
      node.put("persistentvolumeclaims", claim({ ...ASKED, storageClassName: "none" }, "Pending"));
      node.create();
      await node.pass(30);
    },
  },
  {
    name: "its PersistentVolume is of a kind that is not supported",
    pod: CLAIM,
    play: bound("pv-fc", { fc: { targetWWNs: ["50060e801049cfd1"], lun: 0 } }),
  },
  {
    name: "its PersistentVolume is on another node",
    pod: CLAIM,
    play: bound("pv-far", {
      local: { path: "/mnt/disk" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["b"] }],
            },
          ],
        },
      },
    }),
  },
  {
    name: "a hostPath folder does not exist",
    pod: mounting({ hostPath: { path: "/srv/none", type: "Directory" } }),
  },
  {
    name: "a hostPath is a folder and not a file",
    pod: mounting({ hostPath: { path: "/srv/folder", type: "File" } }),
    play: async (node) => {
      await node.makeFolder("/srv/folder");
      node.create();
      await node.pass(30);
    },
  },
  {
    name: "a variable is taken from a ConfigMap that does not exist",
    pod: withEnv({
      env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "a" } } }],
    }),
  },
  {
    name: "a variable is taken from a Secret that does not exist",
    pod: withEnv({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "keys", key: "a" } } }] }),
  },
  {
    name: "a variable is taken from a key that is missing in its ConfigMap",
    pod: withEnv({
      env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "b" } } }],
    }),
    play: async (node) => {
      node.put("configmaps", { metadata: { name: "settings" }, data: { a: "1" } });
      node.create();
      await node.pass(30);
    },
  },
  {
    name: "all variables are taken from a Secret that is created later",
    pod: withEnv({ envFrom: [{ secretRef: { name: "keys" } }] }),
    play: async (node) => {
      node.create();
      await node.pass(25);
      node.put("secrets", { metadata: { name: "keys" }, data: { a: "MQ==" } });
      await node.pass(40);
    },
  },
  {
    name: "a subPath leads out of its volume",
    pod: pod({
      containers: [
        container(SLEEP, {
          env: [{ name: "UP", value: "../.." }],
          volumeMounts: [{ name: "data", mountPath: "/data", subPathExpr: "$(UP)" }],
        }),
      ],
      volumes: [{ name: "data", emptyDir: {} }],
    }),
  },
];
