/** The etcd of this machine: its manifest, and commands in its container. */
import { existsSync, readFileSync } from "node:fs";
import { CliError } from "../../present/cli-error.ts";
import { KUBEADM_FILES } from "../control-plane/places.ts";
import { withRuntime } from "../runtime/query-runtime.ts";
import { type ClusterNote, readLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { type EtcdFacts, etcdctlWords, etcdFacts, memberCount } from "./etcd-manifest.ts";

const EXEC_SECONDS = 300;
const RUNNING = 1;

/** etcd, and how its container is reached. */
export interface LocalEtcd {
  readonly facts: EtcdFacts;
  readonly cluster: ClusterNote;
}

/** The etcd that kubeadm has set up here. `manifest` is where its manifest is now. Throws `CliError` without one. */
export function localEtcd(
  paths: UpPaths,
  manifest: string = KUBEADM_FILES.etcdManifest,
): LocalEtcd {
  if (process.getuid?.() !== 0)
    throw new CliError("permission denied: only root reaches the data of etcd", {
      fix: "use sudo",
    });
  const etcd = findLocalEtcd(paths, manifest);
  if (etcd !== undefined) return etcd;
  if (existsSync(manifest))
    throw new CliError(`${manifest} is not one that kubeadm writes`, { fix: "nodelet doctor" });
  throw new CliError("this machine has no etcd of a cluster that nodelet has made or joined", {
    fix: "run it on a control plane",
  });
}

/** The same; undefined without one, and where its manifest is damaged. */
export function findLocalEtcd(
  paths: UpPaths,
  manifest: string = KUBEADM_FILES.etcdManifest,
): LocalEtcd | undefined {
  const { cluster } = readLedger(paths.ledger) ?? {};
  const facts = existsSync(manifest) ? etcdFacts(readFileSync(manifest, "utf8")) : undefined;
  return cluster?.made === true && facts !== undefined ? { facts, cluster } : undefined;
}

/** Standard output of a command in etcd's container. Throws `CliError` when it fails. */
export async function inEtcd(
  { facts, cluster }: LocalEtcd,
  program: "etcdctl" | "etcdutl",
  words: readonly string[],
): Promise<string> {
  const command = [...(program === "etcdctl" ? etcdctlWords(facts) : [program]), ...words];
  return await withRuntime(
    cluster.criSocket,
    async ({ runtime }, signal) => {
      const labels = {
        "io.kubernetes.container.name": "etcd",
        "io.kubernetes.pod.namespace": "kube-system",
      };
      const containers = await runtime.listContainers({ labelSelector: labels }, signal);
      const running = containers.find(({ state }) => state === RUNNING);
      if (running === undefined)
        throw new CliError("etcd does not run", { fix: "nodelet why kube-system/etcd says why" });
      const result = await runtime.execSync(running.id, command, EXEC_SECONDS, signal);
      const { exitCode, stdout, stderr } = result;
      if (exitCode === 0) return text(stdout);
      throw new CliError(`${program} failed: ${text(stderr).trim().split("\n").at(-1) ?? ""}`);
    },
    { callMs: EXEC_SECONDS * 1000 },
  );
}

/** How many members etcd has; 0 when it cannot be asked. */
export async function etcdMembers(etcd: LocalEtcd): Promise<number> {
  const list = await inEtcd(etcd, "etcdctl", ["member", "list", "-w", "json"]).catch(() => "{}");
  return memberCount(list);
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
