import type { AgentOptions } from "../agent.ts";
import type { KubeletFlags } from "../config/flags/kubelet-flags.ts";
import { readImagePolicy } from "../config/image-policy.ts";
import { UsageError } from "../kit/errors.ts";
import type { Files } from "../outside/host/host.ts";

const MAX_POLICY_BYTES = 1024 * 1024;

/** Image options from flags and environment; throws `UsageError` for a policy that cannot be used. */
export async function imageOptions(
  flags: KubeletFlags,
  files: Pick<Files, "readText">,
  home: string | undefined,
): Promise<NonNullable<AgentOptions["images"]>> {
  const { imagePolicy, imageCredentialProviderConfig, imageCredentialProviderBinDir } = flags;
  return {
    ...(imagePolicy === "" ? {} : await readPolicy(imagePolicy, files)),
    ...(home === undefined ? {} : { home }),
    ...(imageCredentialProviderConfig === ""
      ? {}
      : {
          credentialPrograms: {
            configPath: imageCredentialProviderConfig,
            binFolder: imageCredentialProviderBinDir,
          },
        }),
  };
}

async function readPolicy(path: string, files: Pick<Files, "readText">) {
  const text = await files.readText(path, { maxBytes: MAX_POLICY_BYTES });
  if (text === undefined) throw new UsageError(`--image-policy: ${path} does not exist`);
  const read = readImagePolicy(text);
  if (read.kind === "policy") return read.policy;
  throw new UsageError(`${path}: ${read.faults.join("; ")}`);
}
