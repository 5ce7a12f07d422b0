// pure
import { dumpYaml } from "../../api/text/yaml.ts";
import { type HardeningPlaces, hardenedFile } from "../../config/hardening.ts";

interface ConfigFileInputs extends HardeningPlaces {
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
 * network (the command line uses a socket that only root can open), the rest as the CIS benchmark asks for, also for
 * whom the server is switched on later.
 */
export function kubeletConfigFile(inputs: ConfigFileInputs): string {
  const { manifests, runtimeSocket, cgroupVersion, swapOn, resolvConf } = inputs;
  const { clientCaFile, certDir } = inputs;
  const file = {
    staticPodPath: manifests,
    containerRuntimeEndpoint: `unix://${runtimeSocket}`,
    cgroupDriver: "cgroupfs",
    ...(cgroupVersion === 1 ? { failCgroupV1: false } : {}),
    ...(swapOn ? { failSwapOn: false } : {}),
    ...(resolvConf === undefined ? {} : { resolvConf }),
    authentication: { webhook: { enabled: false } },
    enableServer: false,
  };
  return `${HEADING}${dumpYaml(hardenedFile(file, { clientCaFile, certDir }))}`;
}
