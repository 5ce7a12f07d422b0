// pure
/**
 * The configuration that kubeadm gets: what follows from the machine and from the options of the command, merged into the
 * user's own file (kubeadm.k8s.io/v1beta4, https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/).
 */
import { dumpYaml, parseYaml, YamlError, type YamlValue } from "../../api/text/yaml.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";

/** A field of one of kubeadm's documents. */
export interface KubeadmSetting {
  readonly kind: KubeadmKind;
  /** Names of the fields that lead to it, like `["networking", "podSubnet"]`. */
  readonly path: readonly [string, ...string[]];
  readonly value: YamlValue;
  /** What asks for this value, like `--pod-cidr`: the file may not differ from it. Without one the value is a default. */
  readonly from?: string;
}

const API_VERSIONS = {
  JoinConfiguration: "kubeadm.k8s.io/v1beta4",
  InitConfiguration: "kubeadm.k8s.io/v1beta4",
  ClusterConfiguration: "kubeadm.k8s.io/v1beta4",
  KubeletConfiguration: "kubelet.config.k8s.io/v1beta1",
  KubeProxyConfiguration: "kubeproxy.config.k8s.io/v1alpha1",
} as const;

type KubeadmKind = keyof typeof API_VERSIONS;

/** What kubeadm reads for each of its commands; others it would pass over. */
const KINDS: Readonly<Record<"init" | "join", readonly KubeadmKind[]>> = {
  init: [
    "InitConfiguration",
    "ClusterConfiguration",
    "KubeletConfiguration",
    "KubeProxyConfiguration",
  ],
  join: ["JoinConfiguration"],
};

type Fields = Readonly<Record<string, YamlValue>>;

/** The user's file: its name for errors, and its text. */
interface KubeadmFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The text for `--config` of a command of kubeadm. Documents and fields of the user's file stay as they are. Throws `CliError` for a
 * file that is no kubeadm configuration, and for a field in it that contradicts the machine or an option.
 */
export function kubeadmConfig(
  command: keyof typeof KINDS,
  settings: readonly KubeadmSetting[],
  file: KubeadmFile | undefined,
): string {
  const documents = new Map<KubeadmKind, Fields>(file ? documentsOf(file, KINDS[command]) : []);
  for (const setting of settings) {
    const { kind, path, value, from } = setting;
    const fields = documents.get(kind) ?? { apiVersion: API_VERSIONS[kind], kind };
    const own = yamlAt(fields, path);
    if (own === undefined) documents.set(kind, withField(fields, path, value));
    else if (from !== undefined && dumpYaml(own) !== dumpYaml(value))
      throw conflict(setting, own, file?.path ?? "");
  }
  return KINDS[command]
    .flatMap((kind) => documents.get(kind) ?? [])
    .map((fields) => dumpYaml(fields))
    .join("---\n");
}

function conflict({ kind, path, value, from }: KubeadmSetting, own: YamlValue, file: string) {
  const field = `${kind}.${path.join(".")}`;
  return new CliError(
    `${file}: ${field} is ${JSON.stringify(own)}, but ${from} asks for ${JSON.stringify(value)}`,
    { exitCode: EXIT_USAGE, fix: `remove ${field} from the file, or make it the same` },
  );
}

function documentsOf(
  { path, text }: KubeadmFile,
  kinds: readonly KubeadmKind[],
): readonly (readonly [KubeadmKind, Fields])[] {
  const refuse = (problem: string, fix: string) =>
    new CliError(`${path}: ${problem}`, { exitCode: EXIT_USAGE, fix });
  const found = new Map<KubeadmKind, Fields>();
  for (const { value, line } of parsed(path, text)) {
    if (value === null || typeof value !== "object" || Array.isArray(value))
      throw refuse(`line ${line} is no document with fields`, `it may hold ${kinds.join(", ")}`);
    const fields = value as Fields;
    const kind = kinds.find((each) => each === fields["kind"]);
    if (kind === undefined)
      throw refuse(
        `line ${line}: kind ${JSON.stringify(fields["kind"] ?? "")} is not for this command`,
        `it may hold ${kinds.join(", ")}`,
      );
    if (fields["apiVersion"] !== API_VERSIONS[kind])
      throw refuse(
        `line ${line}: apiVersion of ${kind} is ${JSON.stringify(fields["apiVersion"] ?? "")}`,
        `write apiVersion: ${API_VERSIONS[kind]} (kubeadm config migrate rewrites older files)`,
      );
    if (found.has(kind)) throw refuse(`line ${line}: a second ${kind}`, "keep one of the two");
    found.set(kind, fields);
  }
  return [...found];
}

function parsed(path: string, text: string) {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new CliError(`${path}: ${error.message}`, {
      exitCode: EXIT_USAGE,
      fix: "correct the file: it has to be YAML",
    });
  }
}

/** The value below these names; undefined where one of them is not there. */
export function yamlAt(
  value: YamlValue | undefined,
  path: readonly string[],
): YamlValue | undefined {
  let at = value;
  for (const name of path) {
    if (at === null || typeof at !== "object" || Array.isArray(at)) return undefined;
    at = (at as Fields)[name];
  }
  return at;
}

function withField(fields: Fields, path: readonly string[], value: YamlValue): Fields {
  const [name = "", ...rest] = path;
  if (rest.length === 0) return { ...fields, [name]: value };
  const inner = fields[name];
  const within = inner !== null && typeof inner === "object" && !Array.isArray(inner) ? inner : {};
  return { ...fields, [name]: withField(within as Fields, rest, value) };
}
