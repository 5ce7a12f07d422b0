/** What the command line of `npm run conformance` asks for. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { GROUPS, type GroupName, isGroupName, type Selection } from "./groups.ts";

/** A kubelet to run the suite on. */
export type KubeletChoice =
  | { readonly kind: "nodelet" }
  | { readonly kind: "go" }
  | { readonly kind: "path"; readonly path: string };

/** What starts containers for containerd: the runc that is built for the suites, or the machine's crun. */
const OCI_RUNTIMES = ["runc", "crun"] as const;
export type OciRuntime = (typeof OCI_RUNTIMES)[number];

/** What a run is to do. */
export interface ConformanceOptions {
  readonly group: GroupName;
  readonly kubelet: KubeletChoice;
  readonly selection: Selection;
  readonly procs: number;
  /** Nothing narrows the group. */
  readonly whole: boolean;
  /** After the run every spec of the group has a result, those of earlier runs included. */
  readonly completes: boolean;
  /** Only what failed in the last run of the group with this kubelet. */
  readonly failed: boolean;
  /** Only what has no result yet among those that are kept of the group with this kubelet. */
  readonly rest: boolean;
  /** Result file to write in docs/conformance and the page after it. */
  readonly keep: boolean;
  /** The result that is kept counts how often each spec has failed, this run and the earlier ones together. */
  readonly again: boolean;
  readonly ociRuntime: OciRuntime;
  /** In a guest with cgroup v2. */
  readonly guest: boolean;
  /** CPUs of a guest; its default if absent. */
  readonly cpus: number | undefined;
  /** Folder for reports and logs; it is emptied first. Default one of the cache. */
  readonly results: string | undefined;
  /** Only writes the page from the result files that are kept. */
  readonly page: boolean;
}

export const USAGE = `usage: npm run conformance -- [GROUP] [flags]
  GROUP              ${Object.keys(GROUPS).join(", ")} (default node)
  --kubelet WHAT     nodelet (this checkout, the default), go (built when needed) or PATH
  --focus REGEX      only specs whose text matches; may be given several times
  --skip REGEX       no specs whose text matches; may be given several times
  --label-filter L   only specs whose labels match, as ginkgo understands it
  --list FILE        only the specs whose texts stand in the file, one on a line
  --failed           only what failed in the last run of this group with this kubelet
  --rest             only what has no result yet of this group with this kubelet in docs/conformance/
  --guest            in guests (User-Mode Linux) with cgroup v2, which takes several times longer
  --cpus N           CPUs of a guest (default 2); may be more than the machine has, for specs that need them
  --oci-runtime NAME ${OCI_RUNTIMES.join(" or ")} (default runc); crun starts containers faster in guests
  --procs N          specs at once (${GROUPS.node.procs} for the group node)
  --keep             keep the result in docs/conformance/ and write docs/conformance.md
  --again            the whole group once more; with --keep, count in how many runs each spec has failed
  --results FOLDER   empty the folder, and write reports and logs there (default: a folder of the cache)
  --page             run nothing, write docs/conformance.md from the results that are kept`;

/** The command line is wrong; the message says how to mend it. */
export class UsageProblem extends Error {}

const MOST_PROCS = 64;
/** The guest's kernel is built for as many. */
const MOST_CPUS = 8;
/** The suite matches a regular expression; names are meant as they are. */
const SPECIAL = /[.*+?^${}()|[\]\\]/g;

/** Reads the command line (without program and script); throws `UsageProblem`. */
export function parseConformanceOptions(argv: readonly string[]): ConformanceOptions {
  const { values, positionals } = read(argv);
  const [name = "node", ...more] = positionals;
  if (more.length > 0 || !isGroupName(name))
    throw new UsageProblem(
      `${positionals.join(" ")} is no group: ${Object.keys(GROUPS).join(", ")} are known\n${USAGE}`,
    );
  const group = GROUPS[name];
  const listed = values.list === undefined ? [] : focusOn(readList(values.list));
  const own = [...(values.focus ?? []), ...listed];
  const labels = values["label-filter"];
  const completes = own.length === 0 && !values.skip && labels === undefined && !values.failed;
  const whole = completes && !values.rest;
  if (values.again && !whole)
    throw new UsageProblem(
      "--again runs the whole group: leave out --focus, --skip, --label-filter, --list, --failed and --rest",
    );
  return {
    group: name,
    kubelet: kubeletOf(values.kubelet ?? "nodelet"),
    selection: {
      focus: own.length > 0 ? own : group.selection.focus,
      // A list is taken as it is; with a focus the group's own limits stay.
      skip:
        listed.length > 0 ? (values.skip ?? []) : [...group.selection.skip, ...(values.skip ?? [])],
      ...(labels === undefined ? {} : { labels }),
    },
    procs: countOf("--procs", values.procs, MOST_PROCS) ?? group.procs,
    whole,
    completes,
    failed: values.failed ?? false,
    rest: values.rest ?? false,
    keep: values.keep ?? false,
    again: values.again ?? false,
    ociRuntime: ociRuntimeOf(values["oci-runtime"]),
    guest: values.guest ?? false,
    cpus: guestCpusOf(values),
    results: values.results === undefined ? undefined : resolve(values.results),
    page: values.page ?? false,
  };
}

/**
 * Arguments for the command in a guest, and folders that the guest must have at the same paths. What failed in the last
 * run is a list there.
 */
export function guestArguments(
  argv: readonly string[],
  listOfFailed?: string,
): {
  readonly words: readonly string[];
  readonly folders: readonly string[];
} {
  const { values, positionals } = read(argv);
  const { guest: _, cpus: __, failed: ___, list, ...others } = values;
  const file = listOfFailed ?? (list === undefined ? undefined : resolve(list));
  const words = Object.entries({ ...others, list: file }).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => (each === true ? `--${name}` : `--${name}=${each}`)),
  );
  return {
    words: [...positionals, ...words],
    folders: file === undefined ? [] : [dirname(file)],
  };
}

/** Regular expressions that match just the specs of these names. Reports name empty containers too, by a second space. */
export function focusOn(names: readonly string[]): string[] {
  return names.map((name) => `${name.replace(SPECIAL, "\\$&").replaceAll(/ {2,}/g, " +")}$`);
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        kubelet: { type: "string" },
        focus: { type: "string", multiple: true },
        skip: { type: "string", multiple: true },
        "label-filter": { type: "string" },
        list: { type: "string" },
        failed: { type: "boolean" },
        rest: { type: "boolean" },
        procs: { type: "string" },
        keep: { type: "boolean" },
        again: { type: "boolean" },
        guest: { type: "boolean" },
        cpus: { type: "string" },
        "oci-runtime": { type: "string" },
        results: { type: "string" },
        page: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageProblem(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}

function kubeletOf(word: string): KubeletChoice {
  if (word === "nodelet" || word === "go") return { kind: word };
  if (word === "") throw new UsageProblem("--kubelet expects nodelet, go or a path");
  return { kind: "path", path: resolve(word) };
}

function ociRuntimeOf(word = "runc"): OciRuntime {
  const found = OCI_RUNTIMES.find((name) => name === word);
  if (found !== undefined) return found;
  throw new UsageProblem(`--oci-runtime ${word}: ${OCI_RUNTIMES.join(" or ")} is needed`);
}

function readList(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageProblem(`--list ${file}: ${error instanceof Error ? error.message : error}`);
  }
  const names = text.split("\n").map((line) => line.trim());
  const wanted = names.filter((line) => line !== "" && !line.startsWith("#"));
  if (wanted.length === 0) throw new UsageProblem(`--list ${file}: names no specs`);
  return wanted;
}

function guestCpusOf({
  cpus,
  guest = false,
}: {
  readonly cpus?: string;
  readonly guest?: boolean;
}) {
  if (cpus !== undefined && !guest)
    throw new UsageProblem("--cpus sets the CPUs of a guest: add --guest, or leave it out");
  return countOf("--cpus", cpus, MOST_CPUS);
}

function countOf(flag: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new UsageProblem(`${flag} ${text}: a number from 1 to ${most} is needed`);
}
