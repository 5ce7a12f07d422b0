// pure
/**
 * `cpu_manager_state`, in which assignments outlive the agent, as the Go kubelet writes it: a checksum stands over the text
 * that Go's spew makes of the content. Since 1.37 the same content stands beside it as a text of its own, which then counts.
 * Source: cpumanager/state checkpoint.go.
 */
import type { PodUid } from "../../api/pod-identity.ts";
import { checkpointTextChecksum, fnv1a32 } from "../../api/text/fnv.ts";
import { formatCpuList, parseCpuList } from "../../config/cpu-list.ts";
import { messageOf } from "../../kit/errors.ts";
import { isTree } from "../../kit/json.ts";
import type { CpuState, PodCpus } from "./cpu-state.ts";

/** Content of the file. */
interface KeptCpus {
  readonly policyName: string;
  readonly state: CpuState;
}

/** The file as it was understood: `refused` is whole, and holds what this agent must not guess about; `broken` is damaged. */
type DecodedCpus =
  | { readonly kind: "read"; readonly kept: KeptCpus }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "broken"; readonly why: string };

type Entries = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The file's text. */
export function encodeCpuState(policyName: string, { shared, pods, wholePods }: CpuState): string {
  const defaultCpuSet = formatCpuList(shared);
  const entries: Entries = Object.fromEntries(
    [...pods].map(([uid, containers]) => [
      uid,
      Object.fromEntries([...containers].map(([name, cpus]) => [name, formatCpuList(cpus)])),
    ]),
  );
  const checksum = checksumOf({ policyName, defaultCpuSet, entries });
  const held = pods.size === 0 ? {} : { entries };
  // As the layout of older releases has no place for it, only what newer ones read says which CPUs whole pods have.
  const whole = wholePods
    ? {
        podEntries: Object.fromEntries(
          [...wholePods].map(([uid, cpus]) => [uid, { cpuSet: formatCpuList(cpus) }]),
        ),
      }
    : {};
  const data = JSON.stringify({ policyName, defaultCpuSet, ...held, ...whole });
  const dataChecksum = checkpointTextChecksum(data);
  return JSON.stringify({ policyName, defaultCpuSet, ...held, checksum, data, dataChecksum });
}

/** Reads the file's text, of any version since 1.18. */
export function decodeCpuState(text: string): DecodedCpus {
  try {
    const tree: unknown = JSON.parse(text);
    if (!isTree(tree)) return broken("checkpoint is corrupted");
    const { data, dataChecksum } = tree;
    if (data === undefined && dataChecksum === undefined) return decodeTree(tree);
    if (typeof data !== "string" || dataChecksum !== checkpointTextChecksum(data))
      return broken("could not load v4 checkpoint: checkpoint is corrupted");
    const inner: unknown = JSON.parse(data);
    return isTree(inner)
      ? decodeTree({ ...inner, checksum: 0 })
      : broken("checkpoint is corrupted");
  } catch (error) {
    return broken(`checkpoint is corrupted: ${messageOf(error)}`);
  }
}

function decodeTree(tree: Readonly<Record<string, unknown>>): DecodedCpus {
  const { policyName = "", defaultCpuSet = "", entries = {}, podEntries = {}, checksum } = tree;
  if (typeof policyName !== "string" || typeof defaultCpuSet !== "string" || !isTree(entries))
    return broken("checkpoint is corrupted");
  if (!isTree(podEntries)) return broken("checkpoint is corrupted");
  if (Object.values(entries).some((pod) => typeof pod === "string"))
    return refused("it names containers by id, as kubelets before 1.18 wrote it");
  const whole = readWholePods(podEntries);
  if (typeof whole === "string") return broken(whole);
  const content = { policyName, defaultCpuSet, entries: entries as Entries };
  const known = [
    0,
    ...(whole.size === 0 ? [checksumOf(content)] : []),
    checksumOf(content, ` PodEntries:(state.PodCPUAssignments)${dumpWholePods(whole)}`),
  ];
  if (typeof checksum !== "number" || !known.includes(checksum))
    return broken("checkpoint is corrupted");
  return readLists(content, whole);
}

type WholePods = ReadonlyMap<PodUid, readonly number[]>;

/** CPUs of whole pods, or why they cannot be read. */
function readWholePods(podEntries: Readonly<Record<string, unknown>>): WholePods | string {
  const whole = new Map<PodUid, readonly number[]>();
  for (const [uid, entry] of Object.entries(podEntries)) {
    const text = isTree(entry) ? entry["cpuSet"] : undefined;
    if (typeof text !== "string") return `pod entry "${uid}" has no cpuSet`;
    const cpus = parseCpuList(text);
    if (!cpus.ok) return `could not parse cpuset "${text}" for pod "${uid}": ${cpus.error}`;
    whole.set(uid as PodUid, cpus.cpus);
  }
  return whole;
}

/** As spew shows a map of sets. */
const dumpWholePods = (whole: WholePods): string =>
  goMap(Object.fromEntries(whole), (cpus) => {
    const elements = cpus.map((cpu) => `${cpu}:{}`).join(" ");
    return `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[${elements}]}}`;
  });

interface Content {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: Entries;
}

function readLists({ policyName, defaultCpuSet, entries }: Content, whole: WholePods): DecodedCpus {
  const shared = parseCpuList(defaultCpuSet);
  if (!shared.ok)
    return broken(`could not parse default cpu set "${defaultCpuSet}": ${shared.error}`);
  const pods = new Map<PodUid, PodCpus>();
  for (const [uid, containers] of Object.entries(entries)) {
    const pod = new Map<string, readonly number[]>();
    for (const [name, text] of Object.entries(containers)) {
      const cpus = parseCpuList(String(text));
      if (!cpus.ok) {
        const where = `for container "${name}" in pod "${uid}"`;
        return broken(`could not parse cpuset "${text}" ${where}: ${cpus.error}`);
      }
      pod.set(name, cpus.cpus);
    }
    pods.set(uid as PodUid, pod);
  }
  const state = { shared: shared.cpus, pods, ...(whole.size === 0 ? {} : { wholePods: whole }) };
  return { kind: "read", kept: { policyName, state } };
}

function refused(why: string): DecodedCpus {
  return { kind: "refused", why };
}

function broken(why: string): DecodedCpus {
  return { kind: "broken", why };
}

function checksumOf({ policyName, defaultCpuSet, entries }: Content, more = ""): number {
  const held = goMap(entries, (pod) => goMap(pod, String));
  const fields = `PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet} Entries:(map[string]map[string]string)${held}${more}`;
  return fnv1a32(`(*state.CPUManagerCheckpoint){${fields} Checksum:(checksum.Checksum)0}`);
}

/** A map as spew shows it: keys in the order of their bytes. */
function goMap<T>(entries: Readonly<Record<string, T>>, show: (value: T) => string): string {
  const sorted = Object.entries(entries).sort(([a], [b]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  return `map[${sorted.map(([key, value]) => `${key}:${show(value)}`).join(" ")}]`;
}
