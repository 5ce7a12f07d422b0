/** The cgroup tree: limits, usage and drift. */
import { type ComponentChild, h } from "preact";
import { quantityValue, readQuantity } from "../../api/text/quantity.ts";
import { humanBytes } from "../../cli/render/amounts.ts";
import type { CgroupsReport, ReportedGroup } from "../../subsystems/cgroups/cgroups.ts";
import { type Loaded, useData } from "../requests.ts";
import { AnswerBox } from "./answer.ts";
import { Bar } from "./bar.ts";

const EVERY_MS = 10_000;

/** Pods as `metrics.k8s.io` lists them. */
interface PodUsage {
  readonly items: readonly {
    readonly metadata: { readonly namespace: string; readonly name: string };
    readonly containers: readonly {
      readonly name: string;
      readonly usage: Readonly<Record<string, string>>;
    }[];
  }[];
}

/** Files that hold a limit on memory, of both versions. */
const MEMORY_LIMITS = ["memory.max", "memory.limit_in_bytes"];

/** The view of cgroups. */
export function CgroupsTab(): ComponentChild {
  const answer = useData<CgroupsReport>("cgroups", EVERY_MS);
  const usage = useData<PodUsage>("apis/metrics.k8s.io/v1beta1/pods", EVERY_MS);
  return h(AnswerBox<CgroupsReport>, {
    answer,
    show: ({ groups, version, driver, differences }) => [
      h(
        "p",
        { class: differences === 0 ? "" : "warn" },
        `cgroup v${version}, driver ${driver}: ${differences === 0 ? "every value is as desired" : `${differences} values differ from what is desired`}`,
      ),
      h(
        "ul",
        { class: "tree" },
        groups.map((group) => h(Group, { key: group.path, group, used: memoryOf(group, usage) })),
      ),
      differences > 0 &&
        h("p", { class: "command" }, "On the node: ", h("code", null, "nodelet cgroups --repair")),
    ],
  });
}

function Group({
  group,
  used,
}: {
  readonly group: ReportedGroup;
  readonly used: number | undefined;
}): ComponentChild {
  const { path, kind, exists, pod, container, values } = group;
  const limit = limitOf(group);
  const title = container ? `container ${container}` : pod ? `pod ${pod}` : kind;
  return h(
    "li",
    { class: `level-${Math.min(5, path.split("/").length - 1)}` },
    h("code", null, path.split("/").at(-1) || "/"),
    h("span", { class: "dim" }, ` ${title}${exists ? "" : " (missing)"}`),
    used !== undefined &&
      h(Bar, {
        label: "memory",
        share: limit === undefined ? 0 : used / limit,
        text: `${humanBytes(used)} used${limit === undefined ? ", no limit" : ` of ${humanBytes(limit)}`}`,
      }),
    values
      .filter(({ state }) => state !== "same")
      .map(({ file, found, wanted }) =>
        h("p", { key: file, class: "warn" }, `${file} is ${found ?? "missing"}, desired ${wanted}`),
      ),
  );
}

function limitOf({ values }: ReportedGroup): number | undefined {
  const text = values.find(({ file }) => MEMORY_LIMITS.includes(file))?.found;
  const bytes = Number(text);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

/** Memory in use of a pod's or container's group, as far as it was measured. */
function memoryOf(
  { pod, container, kind }: ReportedGroup,
  usage: Loaded<PodUsage>,
): number | undefined {
  if (usage.kind !== "loaded" || (kind !== "pod" && kind !== "container")) return undefined;
  const found = usage.value.items.find(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}` === pod,
  );
  const measured = found?.containers.filter(
    ({ name }) => container === undefined || name === container,
  );
  if (measured === undefined || measured.length === 0) return undefined;
  return measured.reduce((sum, each) => sum + bytesOf(each.usage["memory"]), 0);
}

function bytesOf(quantity: string | undefined): number {
  const parsed = readQuantity(quantity ?? "0");
  return parsed.kind === "quantity" ? Number(quantityValue(parsed.quantity)) : 0;
}
