/** Files of the node that the CIS benchmark is about: read for `config review`, tightened by the agent. */
import { chmod, readFile, stat } from "node:fs/promises";
import { isLooser, type NodeFile, type NodeFiles } from "../config/hardening.ts";
import type { LoadedConfig } from "../config/load.ts";
import { messageOf } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";

/** Unit files of packages for a node's agent (kube-bench `kubelet.svc`). */
const SERVICE_FILES = [
  "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
  "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
  "/etc/systemd/system/kubelet.service",
  "/lib/systemd/system/kubelet.service",
  "/etc/systemd/system/nodelet.service",
  "/lib/systemd/system/nodelet.service",
];
const PROXY_KUBECONFIGS = ["/etc/kubernetes/proxy.conf", "/var/lib/kube-proxy/kubeconfig.conf"];

/** Settings that name files of the agent. */
type NamingSettings = Pick<LoadedConfig, "config" | "flags" | "files">;

/** The files of this node. Links are followed: what they lead to is what counts. */
export async function readNodeFiles(settings: NamingSettings): Promise<NodeFiles> {
  const { flags, config, files } = settings;
  const found = async (paths: readonly string[]): Promise<readonly NodeFile[]> => {
    const files: NodeFile[] = [];
    for (const path of paths) {
      const file = path === "" ? undefined : await factsOf(path);
      if (file) files.push(file);
    }
    return files;
  };
  const service = await found(SERVICE_FILES);
  let serviceText = "";
  for (const { path } of service) serviceText += await readFile(path, "utf8").catch(() => "");
  return {
    service,
    proxyKubeconfig: await found(PROXY_KUBECONFIGS),
    kubeconfig: await found([flags.kubeconfig, flags.bootstrapKubeconfig]),
    clientAuthorities: await found([config.authentication.x509.clientCAFile]),
    config: await found(files),
    serviceText,
  };
}

async function factsOf(path: string): Promise<NodeFile | undefined> {
  try {
    const { mode, uid, gid } = await stat(path);
    return { path, mode: mode & 0o777, uid, gid };
  } catch {
    return undefined;
  }
}

/**
 * Takes away from the agent's keys and credentials what the benchmark does not allow. One that cannot be changed is reported
 * and used all the same. Files of the configuration belong to who wrote them, a user or kubeadm, and are only reported.
 */
export async function tightenNodeFiles(settings: NamingSettings, log: Log): Promise<void> {
  const { kubeconfig, clientAuthorities, config } = await readNodeFiles(settings);
  const key = settings.config.tlsPrivateKeyFile;
  const keys = key === "" ? [] : [await factsOf(key)];
  const limits: readonly (readonly [number, readonly (NodeFile | undefined)[]])[] = [
    [0o600, [...kubeconfig, ...keys]],
    [0o644, clientAuthorities],
  ];
  for (const [allowed, files] of limits)
    for (const file of files) if (file) await tighten(file, allowed, log);
  for (const { path, mode } of config)
    if (isLooser(mode, CONFIG_MODE))
      log.warn("the permissions of a file are looser than the CIS benchmark allows; run chmod", {
        path,
        from: shown(mode),
        to: shown(mode & CONFIG_MODE),
      });
}

const CONFIG_MODE = 0o600;

async function tighten({ path, mode, uid }: NodeFile, allowed: number, log: Log): Promise<void> {
  if (uid !== 0)
    log.warn("a file of the agent does not belong to root; run chown root:root", { path, uid });
  if (!isLooser(mode, allowed)) return;
  const fields = { path, from: shown(mode), to: shown(mode & allowed) };
  try {
    await chmod(path, mode & allowed);
    log.warn("tightened the permissions of a file, as the CIS benchmark asks for", fields);
  } catch (error) {
    const why = messageOf(error);
    log.warn("the permissions of a file are looser than the CIS benchmark allows; run chmod", {
      ...fields,
      error: why,
    });
  }
}

const shown = (mode: number) => mode.toString(8).padStart(4, "0");
