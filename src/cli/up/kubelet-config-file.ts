// pure
import { dumpYaml } from "../../api/text/yaml.ts";
import { CONFIG_API_VERSION, CONFIG_KIND } from "../../config/kubelet-config.ts";

/** Inputs of the configuration for `up`. */
export interface ConfigFileInputs {
  readonly manifests: string;
  readonly runtimeSocket: string;
  readonly cgroupVersion: 1 | 2;
  readonly swapOn: boolean;
  /** The file with the node's real name servers where `/etc/resolv.conf` only names a local stub. */
  readonly resolvConf?: string;
}

const HEADING = `# The configuration of the agent that "nodelet up" starts. You can edit this file: nodelet does not overwrite
# it once it has been changed. All fields: docs/configuration.md
`;

/**
 * The `KubeletConfiguration` for a node without a cluster: pods from a folder, nobody let in over the
 * network (the command line uses a socket that only root can open).
 */
export function kubeletConfigFile(inputs: ConfigFileInputs): string {
  const { manifests, runtimeSocket, cgroupVersion, swapOn, resolvConf } = inputs;
  return `${HEADING}${dumpYaml({
    apiVersion: CONFIG_API_VERSION,
    kind: CONFIG_KIND,
    staticPodPath: manifests,
    containerRuntimeEndpoint: `unix://${runtimeSocket}`,
    cgroupDriver: "cgroupfs",
    ...(cgroupVersion === 1 ? { failCgroupV1: false } : {}),
    ...(swapOn ? { failSwapOn: false } : {}),
    ...(resolvConf === undefined ? {} : { resolvConf }),
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    enableServer: false,
    // There is no other program of a cluster that asks for them.
    makeIPTablesUtilChains: false,
  })}`;
}
