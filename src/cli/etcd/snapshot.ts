/** `nodelet etcd snapshot`: a copy of all that the cluster has stored, in a file. */
import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { humanBytes } from "../../present/amounts.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_OK } from "../../present/exit-codes.ts";
import { type Io, writeLines } from "../io.ts";
import type { UpPaths } from "../up/paths.ts";
import { inEtcd, localEtcd } from "./local-etcd.ts";

/** Writes the snapshot to `file`; resolves with the exit code. */
export async function takeSnapshot(
  paths: UpPaths,
  file: string,
  { stdout }: Pick<Io, "stdout">,
): Promise<number> {
  const etcd = localEtcd(paths);
  if (existsSync(file))
    throw new CliError(`${file} is there already`, { fix: "name another file, or remove it" });
  // Of the machine's folders its container sees this one.
  const inside = `${etcd.facts.dataDir}/nodelet-snapshot.db`;
  try {
    await inEtcd(etcd, "etcdctl", ["snapshot", "save", inside]);
    const status = await inEtcd(etcd, "etcdutl", ["snapshot", "status", inside, "-w", "json"]);
    copyFileSync(inside, `${file}.new`);
    // Secrets of the cluster are in it.
    chmodSync(`${file}.new`, 0o600);
    renameSync(`${file}.new`, file);
    const { totalKey, totalSize, revision } = JSON.parse(status) as Record<string, number>;
    writeLines(stdout, [
      `${file}: ${totalKey} keys at revision ${revision}, ${humanBytes(totalSize ?? 0)}`,
      "It has the cluster's secrets in it. Keep /etc/kubernetes/pki with it: both are needed for another machine.",
    ]);
    return EXIT_OK;
  } finally {
    rmSync(inside, { force: true });
    rmSync(`${inside}.part`, { force: true });
    rmSync(`${file}.new`, { force: true });
  }
}
