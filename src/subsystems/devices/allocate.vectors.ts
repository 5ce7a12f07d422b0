// pure
import type { Container, Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import type { GrantPlan, PlanInputs } from "./allocate.ts";
import {
  arrive,
  type Device,
  EMPTY_INVENTORY,
  expectAgain,
  type Inventory,
  leave,
  listDevices,
} from "./inventory.ts";
import { EMPTY_LEDGER, type Holding, type Ledger, withHolding } from "./ledger/ledger.ts";
import { deviceRequests } from "./requests.ts";

/** A resource that most rows ask for. */
export const GPU = "v.com/gpu";
/** Another one. */
export const NIC = "v.com/nic";
/** The pod of the rows. */
export const UID = "uid" as PodUid;
/** Registration time of plugins without one. */
export const LONG_AGO = 0 as MonotonicMs;
/** When rows are planned. */
export const NOW = 1_000_000 as MonotonicMs;

/** A container written as `name=gpus`, or `name=gpus+nics`. */
export function containerOf(text: string, more: Partial<Container> = {}): Container {
  const [name = "", amounts = ""] = text.split("=");
  const [gpus = "0", nics = "0"] = amounts.split("+");
  return { name, resources: { limits: { cpu: "1", [GPU]: gpus, [NIC]: nics } }, ...more };
}

/** Init containers, sidecars (with `!`) and, behind `;`, the regular ones. */
export function podOf(text: string): Pod {
  const [inits = "", regular = ""] = text.includes(";") ? text.split(";") : ["", text];
  const split = (listDevices: string) => listDevices.split(" ").filter((part) => part !== "");
  return {
    metadata: { name: "p", uid: UID },
    spec: {
      initContainers: split(inits).map((part) =>
        part.startsWith("!")
          ? containerOf(part.slice(1), { restartPolicy: "Always" })
          : containerOf(part),
      ),
      containers: split(regular).map((part) => containerOf(part)),
    },
  };
}

/** Devices written as ids, `-` before sick ones, `@nodes` behind. */
export function listed(inventory: Inventory, resource: string, text: string): Inventory {
  const devices = text
    .split(" ")
    .filter((part) => part !== "")
    .map((part): Device => {
      const [id = "", nodes] = part.replace(/^-/, "").split("@");
      return {
        id,
        healthy: !part.startsWith("-"),
        nodes: nodes ? nodes.split("+").map(Number) : [],
      };
    });
  return listDevices(arrive(inventory, resource, LONG_AGO), resource, devices);
}

/** Inputs of a plan for the pod. */
export function inputs(pod: Pod, more: Partial<PlanInputs> = {}): PlanInputs {
  return {
    podUid: UID,
    requests: deviceRequests(pod),
    inventory: listed(EMPTY_INVENTORY, GPU, "a b c d e f g h"),
    ledger: EMPTY_LEDGER,
    unaccounted: () => undefined,
    preferences: new Map(),
    placement: new Map(),
    numaNodes: [0],
    expects: () => false,
    now: NOW,
    settleMs: 120_000,
    ...more,
  };
}

/** A holding of devices with names of one letter. */
export function held(
  container: string,
  ids: string,
  podUid: string = UID,
  resource = GPU,
): Holding {
  return {
    podUid: podUid as PodUid,
    container,
    resource,
    devices: ids.split("").map((id) => ({ id, nodes: [] })),
    answer: new Uint8Array(),
    state: "granted",
    since: undefined,
  };
}

/** A ledger of the holdings. */
export const ledgerOf = (...holdings: readonly Holding[]): Ledger =>
  holdings.reduce(withHolding, EMPTY_LEDGER);

/** A plan on one line. */
export function shown(plan: GrantPlan): string {
  if (plan.kind !== "plan")
    return plan.kind === "wait" ? `wait: ${plan.message}` : `${plan.reason}: ${plan.message}`;
  return plan.steps
    .map(
      ({ container, resource, devices }) =>
        `${container}${resource === NIC ? "/nic" : ""}=${devices.map(({ id }) => id).join("")}`,
    )
    .join(" ");
}

/** A pod, what there is, and what it gets. */
export interface Row {
  readonly name: string;
  readonly pod: string;
  readonly gpus?: string;
  readonly nics?: string;
  readonly ledger?: Ledger;
  readonly inventory?: Inventory;
  readonly more?: Partial<PlanInputs>;
  readonly expect: string;
}

/** A refusal in the words of the Go kubelet. */
export const failed = (error: string) =>
  `UnexpectedAdmissionError: Allocate failed due to ${error}, which is unexpected`;

/** Plans of pods. */
export const ROWS: readonly Row[] = [
  {
    name: "the lowest free ids",
    pod: "c=2",
    ledger: ledgerOf(held("x", "a", "other")),
    expect: "c=bc",
  },
  { name: "nothing asked for", pod: "c=0", expect: "" },
  {
    name: "an init container's devices are shared with the app",
    pod: "i=4;c=2",
    expect: "i=abcd c=ab",
  },
  {
    name: "a sidecar takes what init had, the app what is left",
    pod: "i=2 !s=2;c=2",
    gpus: "a b c d",
    expect: "i=ab s=ab c=cd",
  },
  { name: "two apps split what init had", pod: "i=2;c=1 d=1", gpus: "a b", expect: "i=ab c=a d=b" },
  { name: "init containers share with each other", pod: "i=2 j=3;c=1", expect: "i=ab j=abc c=a" },
  {
    name: "an init container after a sidecar leaves it its own",
    pod: "!s=1 i=2;c=1",
    expect: "s=a i=bc c=b",
  },
  {
    name: "a sidecar does not share with an init container that runs beside it",
    pod: "!s=1 i=1 !t=1;c=1",
    expect: "s=a i=b t=b c=c",
  },
  {
    name: "apps never share",
    pod: "c=1 d=1",
    gpus: "a",
    expect: failed(
      `requested number of devices unavailable for ${GPU}. Requested: 1, Available: 0`,
    ),
  },
  { name: "sick devices are left out", pod: "c=2", gpus: "-a b -c d", expect: "c=bd" },
  {
    name: "too few",
    pod: "c=3",
    gpus: "a b -c",
    expect: failed(
      `requested number of devices unavailable for ${GPU}. Requested: 3, Available: 2`,
    ),
  },
  {
    name: "all sick",
    pod: "c=1",
    gpus: "-a",
    expect: failed(`no healthy devices present; cannot allocate unhealthy devices ${GPU}`),
  },
  { name: "two resources", pod: "c=1+2", nics: "x y z", expect: "c=a c/nic=xy" },
  {
    name: "one of two resources is short",
    pod: "c=1+2",
    nics: "x",
    expect: failed(
      `requested number of devices unavailable for ${NIC}. Requested: 2, Available: 1`,
    ),
  },
  { name: "a resource of no plugin is somebody else's", pod: "c=1+2", expect: "c=a" },
  {
    name: "a resource of no plugin that is expected",
    pod: "c=0+2",
    more: { expects: () => true },
    expect: `wait: waiting for the plugin of ${NIC} to register`,
  },
  {
    name: "a resource whose devices others have is known",
    pod: "c=0+1",
    ledger: ledgerOf(held("x", "n", "other", NIC)),
    expect: `wait: waiting for the plugin of ${NIC} to register`,
  },
  {
    name: "what the pod has it keeps",
    pod: "i=4;c=2",
    ledger: ledgerOf(held("i", "efgh"), held("c", "ef")),
    expect: "",
  },
  {
    name: "what is missing is added to what it has",
    pod: "i=2;c=2",
    ledger: ledgerOf(held("c", "gh")),
    expect: "i=gh",
  },
  {
    name: "an init container that comes again takes the app's and more",
    pod: "i=4;c=2",
    ledger: ledgerOf(held("c", "gh")),
    expect: "i=abgh",
  },
  {
    name: "a changed request",
    pod: "c=3",
    ledger: ledgerOf(held("c", "ab")),
    expect: failed(`pod "uid" container "c" changed request for resource "${GPU}" from 2 to 3`),
  },
  {
    name: "a device it has is sick",
    pod: "c=1",
    gpus: "-a b",
    ledger: ledgerOf(held("c", "a")),
    expect: failed(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${GPU}`,
    ),
  },
  {
    name: "a device it has is not listed any more",
    pod: "c=1",
    gpus: "b",
    ledger: ledgerOf(held("c", "a")),
    expect: failed(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${GPU}`,
    ),
  },
  {
    name: "a container that starts again keeps a device that is sick",
    pod: "c=1",
    gpus: "-a",
    ledger: ledgerOf(held("c", "a")),
    more: { only: "c" },
    expect: "",
  },
  {
    name: "a container that starts again keeps a device whose plugin left, and gets what is missing",
    pod: "c=1+1",
    inventory: leave(listed(listed(EMPTY_INVENTORY, GPU, "a"), NIC, "-x y"), GPU, NOW),
    ledger: ledgerOf(held("c", "a")),
    more: { only: "c" },
    expect: "c/nic=y",
  },
  {
    name: "a container that starts again with another amount",
    pod: "c=2",
    gpus: "-a b c",
    ledger: ledgerOf(held("c", "a")),
    more: { only: "c" },
    expect: failed(`pod "${UID}" container "c" changed request for resource "${GPU}" from 1 to 2`),
  },
  {
    name: "a plugin that was here before the restart",
    pod: "c=1",
    inventory: expectAgain(EMPTY_INVENTORY, [GPU], LONG_AGO),
    expect: `wait: waiting for the plugin of ${GPU} to register again`,
  },
  {
    name: "a plugin that left",
    pod: "c=1",
    inventory: leave(listed(EMPTY_INVENTORY, GPU, "a"), GPU, NOW),
    expect: `wait: waiting for the plugin of ${GPU} to register again`,
  },
  {
    name: "a plugin that has not listed",
    pod: "c=1",
    inventory: arrive(EMPTY_INVENTORY, GPU, NOW),
    expect: `wait: waiting for the plugin of ${GPU} to list its devices`,
  },
  {
    name: "a plugin that begins with an empty list",
    pod: "c=1",
    inventory: listDevices(arrive(EMPTY_INVENTORY, GPU, NOW), GPU, []),
    expect: `wait: waiting for a healthy device of ${GPU}`,
  },
  {
    name: "a plugin that names its devices one by one",
    pod: "c=2",
    inventory: listDevices(arrive(EMPTY_INVENTORY, GPU, NOW), GPU, [
      { id: "a", healthy: true, nodes: [] },
    ]),
    expect: `wait: waiting for the plugin of ${GPU} to list 2 healthy devices, it has listed 1`,
  },
  {
    name: "somebody runs with devices nobody wrote down",
    pod: "c=1",
    more: { unaccounted: () => "pod x" },
    expect: `wait: pod x runs with devices of ${GPU} that are not on record; none is given out until it ends`,
  },
  {
    name: "somebody else's lost devices do not matter for what is shared",
    pod: "i=1;c=1",
    ledger: ledgerOf(held("c", "a")),
    more: { unaccounted: () => "pod x" },
    expect: "i=a",
  },
  {
    name: "the plugin's preference",
    pod: "c=2",
    more: { preferences: new Map([[`c ${GPU}`, ["g", "c"]]]) },
    expect: "c=cg",
  },
  {
    name: "a preference for what is not to be had",
    pod: "c=2",
    gpus: "a b -c d",
    ledger: ledgerOf(held("x", "d", "other")),
    more: { preferences: new Map([[`c ${GPU}`, ["zz", "c", "d", "b", "b"]]]) },
    expect: "c=ab",
  },
  {
    name: "a preference for too many",
    pod: "c=1",
    more: { preferences: new Map([[`c ${GPU}`, ["h", "g", "f"]]]) },
    expect: "c=h",
  },
  {
    name: "a preference does not move what is shared",
    pod: "i=1;c=2",
    more: { preferences: new Map([[`c ${GPU}`, ["g", "h"]]]) },
    expect: "i=a c=ag",
  },
  {
    name: "DRA stands behind the resource",
    pod: "c=2",
    more: {
      requests: deviceRequests({
        ...podOf("c=2"),
        status: {
          extendedResourceClaimStatus: {
            resourceClaimName: "x",
            requestMappings: [{ containerName: "c", resourceName: GPU, requestName: "r" }],
          },
        },
      }),
    },
    expect: "",
  },
];
