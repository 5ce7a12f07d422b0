// pure
/** kubeadm's configuration of a machine that joins, from the words that the user gives, and from the machine. */
import { dumpYaml, parseYaml, type YamlValue } from "../../api/text/yaml.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import { type KubeadmSetting, yamlAt } from "../control-plane/kubeadm-config.ts";
import { given, kubeletFields, registrationSettings } from "../control-plane/settings.ts";
import type { JoinCredentials } from "./cluster-info.ts";

/** The options as `kubeadm join` has them; undefined where the user gives none. */
export interface JoinChoices {
  /** Address and port of the API server. */
  readonly endpoint: string | undefined;
  readonly token: string | undefined;
  readonly caCertHashes: readonly string[];
  readonly skipCaVerification: boolean;
  readonly controlPlane: boolean;
  readonly certificateKey: string | undefined;
  /** Address of this machine at which its API server is reached. */
  readonly apiAddress: string | undefined;
  /** A file with a JoinConfiguration. */
  readonly config: string | undefined;
}

type NodeFacts = Parameters<typeof kubeletFields>[0];

const KIND = "JoinConfiguration";

/** What the options say. */
export function choiceSettings(choices: JoinChoices): readonly KubeadmSetting[] {
  const { endpoint, token, caCertHashes, skipCaVerification, controlPlane } = choices;
  const { certificateKey, apiAddress } = choices;
  const by = (name: string) => ["discovery", "bootstrapToken", name] as const;
  return [
    ...given(KIND, by("apiServerEndpoint"), endpoint, "the address"),
    ...given(KIND, by("token"), token, "--token"),
    ...(caCertHashes.length > 0
      ? [
          {
            kind: KIND,
            path: by("caCertHashes"),
            value: caCertHashes,
            from: "--discovery-token-ca-cert-hash",
          } as const,
        ]
      : []),
    ...(skipCaVerification
      ? [{ kind: KIND, path: by("unsafeSkipCAVerification"), value: true } as const]
      : []),
    ...(controlPlane ? [{ kind: KIND, path: ["controlPlane"], value: {} } as const] : []),
    ...given(KIND, ["controlPlane", "certificateKey"], certificateKey, "--certificate-key"),
    ...given(
      KIND,
      ["controlPlane", "localAPIEndpoint", "advertiseAddress"],
      apiAddress,
      "--api-address",
    ),
  ];
}

/** What the machine says; `patches` is the folder of `kubeletPatch`. */
export function machineSettings(machine: NodeFacts, patches: string): readonly KubeadmSetting[] {
  return [
    ...registrationSettings(KIND, machine),
    ...(Object.keys(kubeletFields(machine)).length > 0
      ? [{ kind: KIND, path: ["patches", "directory"], value: patches } as const]
      : []),
  ];
}

/** What this machine needs otherwise in the cluster's configuration for kubelets (a patch of kubeadm); undefined: nothing. */
export function kubeletPatch(machine: NodeFacts): string | undefined {
  const fields = kubeletFields(machine);
  return Object.keys(fields).length === 0 ? undefined : dumpYaml(fields);
}

/**
 * How the machine proves itself by what kubeadm will read; undefined where that is in a file of its own. Throws `CliError` for
 * what is missing or misspelt.
 */
export function joinCredentials(config: string): JoinCredentials | undefined {
  const [document] = parseYaml(config);
  const at = (...path: string[]) => yamlAt(document?.value, ["discovery", ...path]);
  if (at("file") !== undefined) return undefined;
  const endpoint = textOf(at("bootstrapToken", "apiServerEndpoint"));
  const token = textOf(at("bootstrapToken", "token"));
  const hashes = at("bootstrapToken", "caCertHashes");
  const caCertHashes = Array.isArray(hashes) ? hashes.map(textOf) : [];
  if (endpoint === "") throw usage("the address of the API server is missing", LINE);
  if (!/^(?:\[[0-9a-f:]+\]|[^:/]+):\d+$/i.test(endpoint))
    throw usage(`${endpoint} is no address with a port`, "write it like 10.0.0.1:6443");
  if (token === "") throw usage("--token is missing", LINE);
  if (!/^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(token))
    throw usage(
      "--token is no token of kubeadm",
      "it has 6 characters, a dot and 16 more (a-z, 0-9)",
    );
  const wrong = caCertHashes.find((hash) => !/^sha256:[0-9a-f]{64}$/.test(hash));
  if (wrong !== undefined)
    throw usage(
      `--discovery-token-ca-cert-hash: ${wrong} is no hash`,
      "write sha256: and 64 hexadecimal digits",
    );
  if (caCertHashes.length === 0 && at("bootstrapToken", "unsafeSkipCAVerification") !== true)
    throw usage(
      "--discovery-token-ca-cert-hash is missing",
      "use the whole line that kubeadm has printed; --discovery-token-unsafe-skip-ca-verification trusts any cluster at that address",
    );
  return { endpoint, token, caCertHashes };
}

const LINE =
  "use the line that kubeadm token create --print-join-command prints on a control plane";

function usage(problem: string, fix: string): CliError {
  return new CliError(problem, { exitCode: EXIT_USAGE, fix });
}

function textOf(value: YamlValue | undefined): string {
  return typeof value === "string" ? value : "";
}
