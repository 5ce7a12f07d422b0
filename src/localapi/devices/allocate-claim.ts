// pure
/**
 * Chooses devices for a claim: of all combinations the first in the order of requests and devices that fits. A device is allocated
 * whole, and to one claim at a time.
 */
import type {
  AllocationResult,
  Device,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaimSpec,
} from "../../api/generated/types.ts";
import { messageOf } from "../../kit/errors.ts";
import { type DeviceTest, parseSelector } from "./device-selector.ts";
import { deviceId, type OfferedDevice } from "./offered-devices.ts";

/** What there is to choose from. */
export interface Offer {
  readonly devices: readonly OfferedDevice[];
  readonly classes: ReadonlyMap<string, DeviceClass>;
  /** Devices that claims have, by `deviceId`. */
  readonly taken: ReadonlySet<string>;
  readonly nodeName: string;
}

/** The devices for a claim, or why there are none. */
export type Allocation =
  | {
      readonly kind: "allocated";
      readonly result: AllocationResult;
      readonly ids: readonly string[];
    }
  | { readonly kind: "nothing"; readonly why: string };

/** Of one claim (AllocationResultsMaxSize). */
const MAX_DEVICES = 32;
/** Combinations that are tried for one claim, so that no claim keeps the API busy. */
const MAX_TRIES = 20_000;
/** Combinations of alternatives. */
const MAX_CHOICES = 256;

type Wanted = (ExactDeviceRequest | DeviceSubRequest) & { readonly deviceClassName: string };

/** One device that is to be found. */
interface Slot {
  /** `request`, or `request/alternative`. */
  readonly request: string;
  readonly candidates: readonly OfferedDevice[];
  readonly tolerations: readonly DeviceToleration[];
}

/** Allocates a claim. */
export function allocateClaim(spec: ResourceClaimSpec, offer: Offer): Allocation {
  const { requests = [], constraints = [] } = spec.devices ?? {};
  let why = "";
  try {
    let tried = 0;
    const budget = { left: MAX_TRIES };
    for (const choice of choices(requests)) {
      tried += 1;
      if (tried > MAX_CHOICES) throw tooMany();
      const slots = choice.map(({ name, wanted }) => slotsOf(name, wanted, offer));
      const short = slots.find((each) => typeof each === "string");
      if (typeof short === "string") {
        why ||= short;
        continue;
      }
      const found = fill(
        slots.flatMap((each) => (typeof each === "string" ? [] : each)),
        constraints,
        budget,
      );
      if (found) return allocated(found, spec, choice, offer);
      why ||= "no combination of free devices fits all requests and constraints";
    }
  } catch (error) {
    return { kind: "nothing", why: messageOf(error) };
  }
  return { kind: "nothing", why };
}

type Choice = readonly { readonly name: string; readonly wanted: Wanted }[];

/** One alternative for each request; those that come first are preferred. */
function* choices(requests: readonly DeviceRequest[], before: Choice = []): Generator<Choice> {
  const request = requests[before.length];
  if (!request) return yield before;
  const { name, exactly, firstAvailable = [] } = request;
  const ways = exactly
    ? [{ name, wanted: exactly }]
    : firstAvailable.map((sub) => ({ name: `${name}/${sub.name}`, wanted: sub }));
  for (const way of ways) yield* choices(requests, [...before, way]);
}

function slotsOf(name: string, wanted: Wanted, offer: Offer): readonly Slot[] | string {
  const { deviceClassName, allocationMode = "ExactCount", count = 1, tolerations = [] } = wanted;
  const found = offer.classes.get(deviceClassName);
  if (!found) return `deviceclass "${deviceClassName}" not found`;
  const tests = [...(found.spec.selectors ?? []), ...(wanted.selectors ?? [])].map(({ cel }) =>
    testOf(cel?.expression ?? "", name),
  );
  const fitting = offer.devices.filter(
    (each) =>
      tests.every((test) => test(each.device, each.driver)) &&
      isTolerated(each.device, tolerations),
  );
  const free = fitting.filter((each) => !offer.taken.has(idOf(each)));
  const number = allocationMode === "All" ? Math.max(1, fitting.length) : count;
  if (number > MAX_DEVICES) return `request ${name} is for more than ${MAX_DEVICES} devices`;
  if (free.length < number)
    return `request ${name} is for ${allocationMode === "All" ? "all devices" : counted(number)} of class ${deviceClassName}: ${counted(fitting.length)} fit, ${free.length} of them free`;
  return Array.from({ length: number }, () => ({ request: name, candidates: free, tolerations }));
}

const counted = (number: number): string => `${number} ${number === 1 ? "device" : "devices"}`;

const idOf = ({ driver, pool, device }: OfferedDevice): string =>
  deviceId({ driver, pool, name: device.name });

/** An expression that cannot be said of some device is no answer at all. */
function testOf(expression: string, request: string): DeviceTest {
  const test = parseSelector(expression);
  return (device, driver) => {
    try {
      return test(device, driver);
    } catch (error) {
      throw new Error(`request ${request}: selector of device ${device.name}: ${messageOf(error)}`);
    }
  };
}

function isTolerated({ taints = [] }: Device, tolerations: readonly DeviceToleration[]): boolean {
  return taints
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .every((taint) =>
      tolerations.some(
        ({ key = "", operator = "Equal", value = "", effect = "" }) =>
          (effect === "" || effect === taint.effect) &&
          (key === "" ? operator === "Exists" : key === taint.key) &&
          (operator === "Exists" || value === (taint.value ?? "")),
      ),
    );
}

type Chosen = readonly { readonly slot: Slot; readonly offered: OfferedDevice }[];

const tooMany = () =>
  new Error(
    "spec.devices has too many combinations to try: use fewer alternatives, or selectors that fit fewer devices",
  );

/** Fills slot after slot, going back where none of the rest fits; takes the tries off the budget. */
function fill(
  slots: readonly Slot[],
  constraints: readonly DeviceConstraint[],
  budget: { left: number },
): Chosen | undefined {
  const from = (chosen: Chosen): Chosen | undefined => {
    const slot = slots[chosen.length];
    if (!slot) return chosen;
    for (const offered of slot.candidates) {
      budget.left -= 1;
      if (budget.left < 0) throw tooMany();
      if (chosen.some((other) => other.offered === offered)) continue;
      const next = [...chosen, { slot, offered }];
      if (!constraints.every((constraint) => holds(constraint, next))) continue;
      const done = from(next);
      if (done) return done;
    }
    return undefined;
  };
  return from([]);
}

/** Whether the devices so far agree on an attribute, or differ in it. */
function holds(
  { requests = [], matchAttribute, distinctAttribute }: DeviceConstraint,
  chosen: Chosen,
): boolean {
  const attribute = matchAttribute ?? distinctAttribute;
  if (attribute === undefined) return true;
  const values = chosen
    .filter(
      ({ slot }) => requests.length === 0 || requests.some((name) => isOf(slot.request, name)),
    )
    .map(({ offered }) => attributeOf(offered, attribute));
  if (values.includes(undefined)) return false;
  const different = new Set(values).size;
  return matchAttribute === undefined ? different === values.length : different <= 1;
}

const isOf = (request: string, name: string): boolean =>
  request === name || request.startsWith(`${name}/`);

/** With its domain; one without is of the driver. */
function attributeOf({ driver, device }: OfferedDevice, attribute: string): string | undefined {
  const own = attribute.startsWith(`${driver}/`) ? attribute.slice(driver.length + 1) : attribute;
  const value = device.attributes?.[attribute] ?? device.attributes?.[own];
  return value && JSON.stringify(value);
}

function allocated(
  chosen: Chosen,
  spec: ResourceClaimSpec,
  choice: Choice,
  { classes, nodeName }: Offer,
): Allocation {
  const results = chosen.map(({ slot, offered: { driver, pool, device } }) => ({
    request: slot.request,
    driver,
    pool,
    device: device.name,
    ...(slot.tolerations.length === 0 ? {} : { tolerations: slot.tolerations }),
  }));
  const ofClasses = choice.flatMap(({ name, wanted }) =>
    (classes.get(wanted.deviceClassName)?.spec.config ?? []).map((each) => ({
      source: "FromClass",
      requests: [name],
      ...each,
    })),
  );
  const ofClaim = (spec.devices?.config ?? []).map((each) => ({ source: "FromClaim", ...each }));
  const config = [...ofClasses, ...ofClaim];
  const fields = [{ key: "metadata.name", operator: "In", values: [nodeName] }];
  const result = {
    devices: { results, ...(config.length === 0 ? {} : { config }) },
    nodeSelector: { nodeSelectorTerms: [{ matchFields: fields }] },
  };
  return { kind: "allocated", result, ids: chosen.map(({ offered }) => idOf(offered)) };
}
