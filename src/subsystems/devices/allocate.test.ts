import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Container, Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { type GrantPlan, type PlanInputs, planGrants } from "./allocate.ts";
import {
  arrive,
  type Device,
  EMPTY_INVENTORY,
  expectAgain,
  type Inventory,
  leave,
  list,
} from "./inventory.ts";
import {
  EMPTY_LEDGER,
  type Holding,
  type Ledger,
  ownerOf,
  withHolding,
  withPod,
} from "./ledger.ts";
import { deviceWants } from "./requests.ts";

const GPU = "v.com/gpu";
const NIC = "v.com/nic";
const UID = "uid" as PodUid;
const LONG_AGO = 0 as MonotonicMs;
const NOW = 1_000_000 as MonotonicMs;

/** A container written as `name=gpus`, or `name=gpus+nics`. */
function containerOf(text: string, more: Partial<Container> = {}): Container {
  const [name = "", amounts = ""] = text.split("=");
  const [gpus = "0", nics = "0"] = amounts.split("+");
  return { name, resources: { limits: { cpu: "1", [GPU]: gpus, [NIC]: nics } }, ...more };
}

/** Init containers, sidecars (with `!`) and, behind `;`, the regular ones. */
function podOf(text: string): Pod {
  const [inits = "", regular = ""] = text.includes(";") ? text.split(";") : ["", text];
  const split = (list: string) => list.split(" ").filter((part) => part !== "");
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
function listed(inventory: Inventory, resource: string, text: string): Inventory {
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
  return list(arrive(inventory, resource, LONG_AGO), resource, devices);
}

function inputs(pod: Pod, more: Partial<PlanInputs> = {}): PlanInputs {
  return {
    podUid: UID,
    wants: deviceWants(pod),
    inventory: listed(EMPTY_INVENTORY, GPU, "a b c d e f g h"),
    ledger: EMPTY_LEDGER,
    unaccounted: () => undefined,
    preferences: new Map(),
    places: new Map(),
    topology: { policy: "none", scope: "container", nodes: [0] },
    expects: () => false,
    now: NOW,
    settleMs: 120_000,
    ...more,
  };
}

function held(container: string, ids: string, podUid: string = UID, resource = GPU): Holding {
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

const ledgerOf = (...holdings: readonly Holding[]): Ledger =>
  holdings.reduce(withHolding, EMPTY_LEDGER);

function shown(plan: GrantPlan): string {
  if (plan.kind !== "plan")
    return plan.kind === "wait" ? `wait: ${plan.message}` : `${plan.reason}: ${plan.message}`;
  return plan.steps
    .map(
      ({ container, resource, devices }) =>
        `${container}${resource === NIC ? "/nic" : ""}=${devices.map(({ id }) => id).join("")}`,
    )
    .join(" ");
}

interface Row {
  readonly name: string;
  readonly pod: string;
  readonly gpus?: string;
  readonly nics?: string;
  readonly ledger?: Ledger;
  readonly inventory?: Inventory;
  readonly more?: Partial<PlanInputs>;
  readonly expect: string;
}

const failed = (error: string) =>
  `UnexpectedAdmissionError: Allocate failed due to ${error}, which is unexpected`;

const ROWS: readonly Row[] = [
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
    expect: `wait: waiting for the plugin of ${GPU} to name its devices`,
  },
  {
    name: "a plugin that begins with an empty list",
    pod: "c=1",
    inventory: list(arrive(EMPTY_INVENTORY, GPU, NOW), GPU, []),
    expect: `wait: waiting for a healthy device of ${GPU}`,
  },
  {
    name: "a plugin that names its devices one by one",
    pod: "c=2",
    inventory: list(arrive(EMPTY_INVENTORY, GPU, NOW), GPU, [
      { id: "a", healthy: true, nodes: [] },
    ]),
    expect: `wait: waiting for the plugin of ${GPU} to name 2 healthy devices, it has named 1`,
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
      wants: deviceWants({
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

for (const { name, pod, gpus, nics, ledger, inventory, more, expect } of ROWS) {
  test(`planGrants: ${name}`, () => {
    const base = inventory ?? listed(EMPTY_INVENTORY, GPU, gpus ?? "a b c d e f g h");
    const all = nics === undefined ? base : listed(base, NIC, nics);
    assert.equal(
      shown(
        planGrants(inputs(podOf(pod), { inventory: all, ...(ledger ? { ledger } : {}), ...more })),
      ),
      expect,
    );
  });
}

const PLACED = "a@0 b@0 c@1 d@1 e f";
const TOPOLOGY_ROWS: readonly (readonly [
  policy: string,
  scope: "container" | "pod",
  pod: string,
  taken: string,
  expect: string,
])[] = [
  ["best-effort", "container", "c=2", "a", "c=cd"],
  ["best-effort", "container", "c=3", "", "c=abc"],
  ["best-effort", "container", "c=2", "ac", "c=bd"],
  [
    "restricted",
    "container",
    "c=2",
    "ac",
    "TopologyAffinityError: Resources cannot be allocated with Topology locality",
  ],
  ["single-numa-node", "container", "c=2", "a", "c=cd"],
  [
    "single-numa-node",
    "container",
    "c=3",
    "",
    "TopologyAffinityError: Resources cannot be allocated with Topology locality",
  ],
  ["single-numa-node", "container", "c=1 d=1", "ad", "c=b d=c"],
  ["single-numa-node", "pod", "c=1 d=1", "a", "c=c d=d"],
  [
    "single-numa-node",
    "pod",
    "c=1 d=1",
    "ac",
    "TopologyAffinityError: Resources cannot be allocated with Topology locality",
  ],
  ["single-numa-node", "pod", "i=2;c=1 d=1", "a", "i=cd c=c d=d"],
  ["none", "container", "c=2", "a", "c=bc"],
];

for (const [policy, scope, pod, taken, expect] of TOPOLOGY_ROWS) {
  test(`planGrants: ${policy} by ${scope}: ${pod} without "${taken}"`, () => {
    const plan = planGrants(
      inputs(podOf(pod), {
        inventory: listed(EMPTY_INVENTORY, GPU, PLACED),
        ledger: taken === "" ? EMPTY_LEDGER : ledgerOf(held("x", taken, "other")),
        topology: { policy: policy as "none", scope, nodes: [0, 1] },
      }),
    );
    assert.equal(shown(plan), expect);
  });
}

test("planGrants asks the plugin within the aligned devices when they suffice, else about all", () => {
  const ask = (pod: string) => {
    const plan = planGrants(
      inputs(podOf(pod), {
        inventory: listed(EMPTY_INVENTORY, GPU, PLACED),
        topology: { policy: "best-effort", scope: "container", nodes: [0, 1] },
      }),
    );
    return plan.kind === "plan" ? plan.steps[0]?.question : undefined;
  };
  assert.deepEqual(ask("c=1"), { available: ["a", "b"], mustInclude: [], amount: 1 });
  assert.equal(ask("c=2"), undefined);
  assert.deepEqual(ask("c=5"), {
    available: ["a", "b", "c", "d", "e", "f"],
    mustInclude: ["a", "b", "c", "d"],
    amount: 5,
  });
});

test("planGrants never plans what others own, what is sick, or for two that run together", () => {
  const amount = fc.integer({ min: 0, max: 3 });
  const pods = fc.record({
    inits: fc.array(fc.tuple(amount, fc.boolean()), { maxLength: 3 }),
    apps: fc.array(amount, { minLength: 1, maxLength: 3 }),
  });
  const owners = fc.array(fc.constantFrom("", "other", "sick"), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(pods, owners, ({ inits, apps }, states) => {
      const text = `${inits.map(([n, side], i) => `${side ? "!" : ""}i${i}=${n}`).join(" ")};${apps.map((n, i) => `c${i}=${n}`).join(" ")}`;
      const ids = "abcdefgh".split("");
      const inventory = listed(
        EMPTY_INVENTORY,
        GPU,
        ids.map((id, i) => (states[i] === "sick" ? `-${id}` : id)).join(" "),
      );
      const others = ids.filter((_, i) => states[i] === "other").join("");
      const ledger = others === "" ? EMPTY_LEDGER : ledgerOf(held("x", others, "other"));
      const pod = podOf(text);
      const plan = planGrants(inputs(pod, { inventory, ledger }));
      if (plan.kind !== "plan") return;
      const wants = deviceWants(pod);
      assert.equal(plan.steps.length, wants.length);
      for (const step of plan.steps) {
        assert.equal(
          step.devices.length,
          wants.find(({ container }) => container === step.container)?.wants[0]?.amount,
        );
        for (const { id } of step.devices) {
          assert.equal(ownerOf(ledger, GPU, id), undefined);
          assert.equal(inventory.get(GPU)?.devices.get(id)?.healthy, true);
        }
      }
      const holdings = plan.steps.map(({ container, devices }) => ({
        ...held(container, "x"),
        devices,
      }));
      withPod(ledger, UID, holdings);
      for (const a of plan.steps)
        for (const b of plan.steps) {
          if (
            a === b ||
            !runTogether(
              wants.find((w) => w.container === a.container),
              wants.find((w) => w.container === b.container),
            )
          )
            continue;
          assert.ok(
            !a.devices.some(({ id }) => b.devices.some((other) => other.id === id)),
            `${a.container} and ${b.container} share in ${text}`,
          );
        }
    }),
    { numRuns: 500 },
  );
});

type Wants = ReturnType<typeof deviceWants>[number] | undefined;

/** Whether two containers ever run at the same time, said once more and differently. */
function runTogether(a: Wants, b: Wants): boolean {
  if (!a || !b) return false;
  const ends = (w: NonNullable<Wants>) => (w.kind === "init" ? w.order : Number.POSITIVE_INFINITY);
  return a.order <= ends(b) && b.order <= ends(a);
}
