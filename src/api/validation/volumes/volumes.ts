// pure
import { appendAll } from "../../../kit/limits/lists.ts";
import {
  duplicate,
  type FieldProblem,
  forbidden,
  invalid,
  required,
  unsupported,
} from "../../decode/field-problem.ts";
import type { Pod, Volume } from "../../generated/types.ts";
import type { VolumeSourceName } from "../../pod/volume-sources.ts";
import { dns1123LabelFaults, dns1123SubdomainFaults } from "../../text/names.ts";
import {
  child,
  descendingPath,
  eachOf,
  entry,
  FINE,
  faultsAt,
  fileMode,
  isNegative,
  noBacksteps,
  type Problems,
} from "../fields.ts";
import { claimTemplateProblems } from "./claim-template.ts";
import { projectedProblems } from "./projected.ts";
import { REMOTE_VOLUMES } from "./remote-volumes.ts";
import type { VolumeCheck, VolumeChecks, VolumeContext } from "./volume-checks.ts";
import { downwardFileProblems, keyToPathProblems, pullPolicyProblems } from "./volume-files.ts";

/** Of folders that pods ask for: permissions with the sticky bit. */
const MAX_FOLDER_MODE = 0o1777;

const HOST_PATH_TYPES = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
] as const;

const LOCAL_VOLUMES = {
  emptyDir: ({ sizeLimit, mode }, path) => [
    ...(sizeLimit !== undefined && isNegative(sizeLimit)
      ? [forbidden(child(path, "sizeLimit"), "SizeLimit field must be a valid resource quantity")]
      : FINE),
    ...(mode !== undefined && (mode < 0 || mode > MAX_FOLDER_MODE)
      ? [
          invalid(
            child(path, "mode"),
            mode,
            "must be a number between 0 and 01777 (octal), both inclusive",
          ),
        ]
      : FINE),
  ],
  hostPath: ({ path: target, type }, path) =>
    target === ""
      ? [required(child(path, "path"))]
      : [
          ...noBacksteps(child(path, "path"), target),
          ...(type === undefined || (HOST_PATH_TYPES as readonly string[]).includes(type)
            ? []
            : [unsupported(child(path, "type"), type, HOST_PATH_TYPES)]),
        ],
  gitRepo: ({ repository, directory = "" }, path) => [
    ...(repository === "" ? [required(child(path, "repository"))] : []),
    ...descendingPath(child(path, "directory"), directory),
  ],
  secret: ({ secretName = "", defaultMode, items }, path) => [
    ...(secretName === "" ? [required(child(path, "secretName"))] : []),
    ...fileMode(child(path, "defaultMode"), defaultMode),
    ...keyToPathProblems(items, child(path, "items")),
  ],
  configMap: ({ name = "", defaultMode, items }, path) => [
    ...(name === "" ? [required(child(path, "name"))] : []),
    ...fileMode(child(path, "defaultMode"), defaultMode),
    ...keyToPathProblems(items, child(path, "items")),
  ],
  downwardAPI: ({ defaultMode, items }, path) => [
    ...fileMode(child(path, "defaultMode"), defaultMode),
    ...eachOf(items, child(path, "items"), downwardFileProblems),
  ],
  projected: projectedProblems,
  persistentVolumeClaim: ({ claimName }, path) =>
    claimName === "" ? [required(child(path, "claimName"))] : FINE,
  ephemeral: ({ volumeClaimTemplate }, path, { podName, volumeName }) => {
    const claim = `${podName}-${volumeName}`;
    const named = podName !== "" && volumeName !== "";
    return [
      ...(volumeClaimTemplate === undefined
        ? [required(child(path, "volumeClaimTemplate"))]
        : claimTemplateProblems(volumeClaimTemplate, child(path, "volumeClaimTemplate"))),
      ...(named ? dns1123SubdomainFaults(claim) : []).map((fault) =>
        invalid(child(path, "name"), volumeName, `PVC name "${claim}": ${fault}`),
      ),
    ];
  },
  image: ({ reference = "", pullPolicy }, path) => [
    ...(reference === "" ? [required(child(path, "reference"))] : []),
    ...pullPolicyProblems(pullPolicy, child(path, "pullPolicy")),
  ],
} satisfies Partial<VolumeChecks>;

const CHECKS: VolumeChecks = { ...REMOTE_VOLUMES, ...LOCAL_VOLUMES };

function sourceProblems<K extends VolumeSourceName>(
  volume: Volume,
  name: K,
  path: string,
  context: VolumeContext,
): Problems {
  const check: VolumeCheck<K> = CHECKS[name];
  const source = volume[name];
  return source === undefined || source === null ? FINE : check(source, child(path, name), context);
}

function volumeProblems(volume: Volume, path: string, podName: string): readonly FieldProblem[] {
  const { name } = volume;
  const set = (Object.keys(CHECKS) as VolumeSourceName[]).filter(
    (key) => volume[key] !== undefined,
  );
  const first = set[0];
  return [
    ...(first === undefined
      ? [required(path, "must specify a volume type")]
      : sourceProblems(volume, first, path, { volumeName: name, podName })),
    ...set
      .slice(1)
      .map((key) => forbidden(child(path, key), "may not specify more than 1 volume type")),
    ...(name === ""
      ? [required(child(path, "name"))]
      : faultsAt(child(path, "name"), name, dns1123LabelFaults(name))),
  ];
}

/** The volumes of a pod: those that can be mounted, and what is wrong with the others. */
export function checkVolumes(pod: Pod): {
  readonly usable: ReadonlyMap<string, Volume>;
  readonly problems: Problems;
} {
  const usable = new Map<string, Volume>();
  const problems: FieldProblem[] = [];
  const volumes = pod.spec?.volumes ?? [];
  const podName = pod.metadata?.name ?? "";
  const created = new Set(
    volumes
      .filter((v) => v.ephemeral !== undefined && podName !== "")
      .map((v) => `${podName}-${v.name}`),
  );
  for (const [i, volume] of volumes.entries()) {
    const path = entry("spec.volumes", i);
    const own = [...volumeProblems(volume, path, podName)];
    if (usable.has(volume.name)) own.push(duplicate(child(path, "name"), volume.name));
    if (own.length === 0) usable.set(volume.name, volume);
    appendAll(problems, own);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && created.has(claim))
      problems.push(
        invalid(
          child(path, "persistentVolumeClaim.claimName"),
          claim,
          "must not reference a PVC that gets created for an ephemeral volume",
        ),
      );
  }
  return { usable, problems };
}
