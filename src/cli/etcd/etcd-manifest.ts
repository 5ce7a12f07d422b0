// pure
/** What the manifest that kubeadm has written for etcd says of it, and the pod that restores a snapshot for it. */
import { dumpYaml } from "../../api/text/yaml.ts";
import { yamlAt } from "../control-plane/kubeadm-config.ts";
import { readManifest } from "../control-plane/manifest.ts";

/** The machine's etcd. */
export interface EtcdFacts {
  readonly image: string;
  readonly name: string;
  readonly peerUrl: string;
  readonly dataDir: string;
  readonly authority: string;
}

/** Reads the manifest; undefined for one that kubeadm would not write. */
export function etcdFacts(manifest: string): EtcdFacts | undefined {
  const read = readManifest(manifest);
  if ("problem" in read) return undefined;
  const containers = yamlAt(read.document, ["spec", "containers"]);
  const container = Array.isArray(containers) ? containers[0] : undefined;
  const command = yamlAt(container, ["command"]);
  const words = Array.isArray(command) ? command.map(String) : [];
  const flag = (name: string) =>
    words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? "";
  const facts = {
    image: String(yamlAt(container, ["image"]) ?? ""),
    name: flag("name"),
    peerUrl: flag("initial-advertise-peer-urls"),
    dataDir: flag("data-dir"),
    authority: flag("trusted-ca-file"),
  };
  return Object.values(facts).every((value) => value !== "") ? facts : undefined;
}

/** Words of etcdctl before its command, to speak to the machine's own etcd as kubeadm's probes do. */
export function etcdctlWords({ authority }: EtcdFacts): readonly string[] {
  const folder = authority.slice(0, authority.lastIndexOf("/"));
  return [
    ...["etcdctl", "--endpoints=https://127.0.0.1:2379", `--cacert=${authority}`],
    `--cert=${folder}/healthcheck-client.crt`,
    `--key=${folder}/healthcheck-client.key`,
  ];
}

/** Folder in etcd's own one in which a restore is prepared. */
export function restoreFolder({ dataDir }: EtcdFacts): string {
  return `${dataDir}/nodelet-restore`;
}

/** Added to the revision, so that no client takes older objects for newer ones (etcd's documentation, "Restoring with revision bump"). */
const BUMP = 1_000_000_000;

/** A static pod that writes new data from `snapshot.db` in the restore folder; `name` is another one each time. */
export function restorePod(facts: EtcdFacts, name: string): string {
  const { image, name: member, peerUrl, dataDir } = facts;
  const folder = restoreFolder(facts);
  return dumpYaml({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "kube-system" },
    spec: {
      hostNetwork: true,
      restartPolicy: "Never",
      priorityClassName: "system-node-critical",
      containers: [
        {
          name: "restore",
          image,
          imagePullPolicy: "IfNotPresent",
          command: [
            ...["etcdutl", "snapshot", "restore", `${folder}/snapshot.db`],
            ...[`--data-dir=${folder}/data`, `--name=${member}`],
            `--initial-cluster=${member}=${peerUrl}`,
            `--initial-advertise-peer-urls=${peerUrl}`,
            ...[`--bump-revision=${BUMP}`, "--mark-compacted"],
          ],
          volumeMounts: [{ name: "data", mountPath: dataDir }],
        },
      ],
      volumes: [{ name: "data", hostPath: { path: dataDir, type: "Directory" } }],
    },
  });
}

/** How many members etcd has, by `etcdctl member list -w json`. */
export function memberCount(json: string): number {
  const { members } = JSON.parse(json) as { readonly members?: readonly unknown[] };
  return members?.length ?? 0;
}
