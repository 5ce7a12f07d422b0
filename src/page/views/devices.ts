/** Devices and the pods that have them. */
import { type ComponentChild, h } from "preact";
import type { DevicesReply } from "../../present/shapes.ts";
import { useData } from "../requests.ts";
import { AnswerBox } from "./answer.ts";
import { ClaimsSection } from "./claims.ts";
import { podHref } from "./links.ts";
import { Table, type TableColumn } from "./table.ts";

const EVERY_MS = 5_000;

type Resource = DevicesReply["resources"][number];
type Device = Resource["devices"][number];

const COLUMNS: readonly TableColumn<Device>[] = [
  { title: "Device", value: ({ id }) => id },
  {
    title: "Health",
    value: ({ health }) => health,
    style: ({ health }) => (health === "healthy" ? "green" : "red"),
  },
  { title: "NUMA", value: ({ numaNodes }) => numaNodes.join(", ") },
  {
    title: "Owner",
    value: ({ owner }) =>
      owner === undefined
        ? h("span", { class: "dim" }, "free")
        : h(
            "a",
            { href: podHref(owner.namespace, owner.name) },
            `${owner.namespace}/${owner.name}`,
          ),
  },
];

/** The view of devices. */
export function DevicesTab(): ComponentChild {
  const answer = useData<DevicesReply>("devices", EVERY_MS);
  return h(AnswerBox<DevicesReply>, {
    answer,
    show: ({ resources, notes, dynamicResources }) => [
      resources.length === 0 &&
        (dynamicResources?.drivers.length ?? 0) === 0 &&
        h(
          "p",
          { class: "empty" },
          "No device plugin and no DRA driver has registered. Those that do are listed here with their devices, and with the pods that own them.",
        ),
      ...resources.map((each) => h(ResourceSection, { key: each.resource, resource: each })),
      dynamicResources && h(ClaimsSection, { key: "claims", report: dynamicResources }),
      notes.length > 0 &&
        h(
          "ul",
          null,
          notes.map((note) => h("li", { key: note }, note)),
        ),
    ],
  });
}

function ResourceSection({ resource }: { readonly resource: Resource }): ComponentChild {
  const { counts, plugin, devices } = resource;
  return h(
    "section",
    null,
    h("h2", null, resource.resource),
    h(
      "p",
      null,
      `Plugin ${plugin}; ${counts.free} free, ${counts.owned} allocated, ${counts.unusable} unusable`,
    ),
    h(Table<Device>, {
      caption: `Devices of ${resource.resource}`,
      columns: COLUMNS,
      rows: devices,
      keyOf: ({ id }) => id,
      empty: "No devices.",
    }),
  );
}
