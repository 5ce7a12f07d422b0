/** The frame of the page: what node this is, how it does, and what is to be seen of it. */
import { type ComponentChild, h } from "preact";
import { humanDuration } from "../../api/text/human-duration.ts";
import type { Connection, ViewProps } from "../store.ts";
import { CgroupsTab } from "./cgroups.ts";
import { DevicesTab } from "./devices.ts";
import { EventsTab } from "./events.ts";
import { ImagesTab } from "./images.ts";
import { NodeTab } from "./node.ts";
import { PodTab } from "./pod.ts";
import { PodsTab } from "./pods.ts";
import { ProbesTab } from "./probes.ts";

type View = (props: ViewProps) => ComponentChild;

const VIEWS: Readonly<Record<string, { readonly title: string; readonly view: View }>> = {
  pods: { title: "Pods", view: PodsTab },
  events: { title: "Events", view: EventsTab },
  probes: { title: "Probes", view: ProbesTab },
  images: { title: "Images", view: ImagesTab },
  devices: { title: "Devices", view: DevicesTab },
  cgroups: { title: "Cgroups", view: CgroupsTab },
  node: { title: "Node", view: NodeTab },
};

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: "connecting",
  live: "live",
  lost: "connection lost, trying again",
  refused: "session over: run nodelet page for a new link",
};

/** The whole page. */
export function PageFrame({ state }: ViewProps): ComponentChild {
  const [, name = "pods", ...rest] = location.hash.split("/");
  const { view } = VIEWS[name] ?? { view: PodsTab };
  const active = name === "pod" ? "pods" : name;
  const pod = name === "pod" ? decodeURIComponent(rest.join("/")) : undefined;
  return [
    h("a", { class: "skip", href: "#main" }, "Skip to content"),
    h(Header, { state }),
    h(
      "nav",
      { "aria-label": "Views" },
      Object.entries(VIEWS).map(([key, { title }]) =>
        h(
          "a",
          { key, href: `#/${key}`, ...(key === active ? { "aria-current": "page" } : {}) },
          title,
        ),
      ),
    ),
    h(
      "main",
      { id: "main", tabIndex: -1 },
      pod === undefined ? h(view, { state }) : h(PodTab, { state, name: pod }),
    ),
  ];
}

function Header({ state: { overview, connection } }: ViewProps): ComponentChild {
  const ready = overview?.ready ?? false;
  return h(
    "header",
    null,
    h("h1", null, overview?.node ?? "nodelet"),
    overview &&
      h("span", { class: `badge ${ready ? "good" : "bad"}` }, ready ? "Ready" : "NotReady"),
    overview && !ready && h("span", { class: "why" }, overview.why),
    overview &&
      h(
        "span",
        { class: "dim" },
        `nodelet ${overview.version} · Kubernetes ${overview.kubernetesVersion} · ${overview.runtime} · ` +
          `agent up ${humanDuration(Date.now() - overview.startedAtMs)}`,
      ),
    h(
      "span",
      { class: `live ${connection === "live" ? "good" : "warn"}`, role: "status" },
      CONNECTIONS[connection],
    ),
  );
}
