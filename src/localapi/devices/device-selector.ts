// pure
/** CEL expressions that choose devices, in the environment that Kubernetes gives them (dynamic-resource-allocation/cel). */
import { Environment } from "@marcbachmann/cel-js";
import type { Device } from "../../api/generated/types.ts";
import { compareQuantities, parseQuantity } from "../../api/text/quantity.ts";
import { derivedOnce, derivedOncePerText } from "../../kit/derived-once.ts";
import { messageOf } from "../../kit/errors.ts";

/** Whether a device of a driver is chosen. Throws an error whose message is for people where that cannot be said. */
export type DeviceTest = (device: Device, driver: string) => boolean;

/** As Kubernetes limits them (CELSelectorExpressionMaxLength). */
export const MAX_EXPRESSION_BYTES = 10 * 1024;

/** An amount, such as a device's memory. */
class CelQuantity {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A version in three parts, with what comes before a release. */
class CelVersion {
  readonly parts: readonly bigint[];
  readonly before: readonly string[];
  constructor(text: string) {
    const match = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
    if (!match) throw new Error(`"${text}" is no version of the form 1.2.3`);
    this.parts = match.slice(1, 4).map((part) => BigInt(part ?? 0));
    this.before = (match[4] ?? "").split(".").filter((part) => part !== "");
  }
}

const order = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

function compareVersions(a: CelVersion, b: CelVersion): number {
  const parts = a.parts.map((part, i) => order(part, b.parts[i] ?? 0n)).find((each) => each !== 0);
  if (parts !== undefined) return parts;
  if (a.before.length === 0 || b.before.length === 0)
    return order(b.before.length, a.before.length);
  for (let i = 0; i < Math.max(a.before.length, b.before.length); i += 1) {
    const [own = "", other = ""] = [a.before[i], b.before[i]];
    const numbers = /^\d+$/.test(own) && /^\d+$/.test(other);
    const compared = numbers ? order(BigInt(own), BigInt(other)) : order(own, other);
    if (compared !== 0) return compared;
  }
  return 0;
}

const compareAmounts = (a: CelQuantity, b: CelQuantity): number =>
  compareQuantities(parseQuantity(a.text), parseQuantity(b.text));

/** Sizes of expressions: what a request has of them cannot keep the API busy for long. */
const LIMITS = {
  maxAstNodes: 2_000,
  maxDepth: 64,
  maxListElements: 200,
  maxMapEntries: 200,
  maxCallArguments: 16,
};

/** Made when the first expression is read: most nodes have none. */
const environmentOf = derivedOnce((limits: typeof LIMITS) =>
  new Environment({ enableOptionalTypes: true, limits })
    .registerType("Quantity", { ctor: CelQuantity, fields: {} })
    .registerType("Semver", { ctor: CelVersion, fields: {} })
    .registerVariable("device", "map<string, dyn>")
    .registerFunction("quantity(string): Quantity", (text: string) => {
      parseQuantity(text);
      return new CelQuantity(text);
    })
    .registerFunction("semver(string): Semver", (text: string) => new CelVersion(text))
    .registerFunction("Quantity.compareTo(Quantity): int", (a: CelQuantity, b: CelQuantity) =>
      BigInt(compareAmounts(a, b)),
    )
    .registerFunction(
      "Quantity.isGreaterThan(Quantity): bool",
      (a: CelQuantity, b: CelQuantity) => compareAmounts(a, b) > 0,
    )
    .registerFunction(
      "Quantity.isLessThan(Quantity): bool",
      (a: CelQuantity, b: CelQuantity) => compareAmounts(a, b) < 0,
    )
    .registerFunction("Semver.compareTo(Semver): int", (a: CelVersion, b: CelVersion) =>
      BigInt(compareVersions(a, b)),
    )
    .registerFunction(
      "Semver.isGreaterThan(Semver): bool",
      (a: CelVersion, b: CelVersion) => compareVersions(a, b) > 0,
    )
    .registerFunction(
      "Semver.isLessThan(Semver): bool",
      (a: CelVersion, b: CelVersion) => compareVersions(a, b) < 0,
    )
    .registerFunction("Semver.major(): int", (a: CelVersion) => a.parts[0] ?? 0n)
    .registerFunction("Semver.minor(): int", (a: CelVersion) => a.parts[1] ?? 0n)
    .registerFunction("Semver.patch(): int", (a: CelVersion) => a.parts[2] ?? 0n)
    .registerOperator(
      "Quantity == Quantity",
      (a: CelQuantity, b: CelQuantity) => compareAmounts(a, b) === 0,
    )
    .registerOperator(
      "Semver == Semver",
      (a: CelVersion, b: CelVersion) => compareVersions(a, b) === 0,
    ),
);

/** The expression as a test of devices. Throws an error that says what is wrong with it. */
export const parseSelector = derivedOncePerText((expression): DeviceTest => {
  const parsed = environmentOf(LIMITS).parse(expression);
  const { valid, type, error } = parsed.check();
  if (!valid) throw new Error(summaryOf(error));
  if (type !== "bool" && type !== "dyn") throw new Error(`must evaluate to bool, not to ${type}`);
  return (device, driver) => {
    let result: unknown;
    try {
      result = parsed({ device: inputOf(device, driver) });
    } catch (error_) {
      throw new Error(summaryOf(error_));
    }
    if (typeof result !== "boolean") throw new Error("it does not evaluate to true or false");
    return result;
  };
});

/** What is wrong with an expression; `undefined` for a good one. */
export function selectorFault(expression: string): string | undefined {
  try {
    parseSelector(expression);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const HAS_FAULT = "has() invalid argument";
const HAS_FIX =
  'has() takes nothing but names and dots here; write "model" in device.attributes["gpu.example.com"]';

/** The first line: what follows shows where in the expression. */
function summaryOf(error: unknown): string {
  const [summary = ""] = messageOf(error).split("\n");
  return summary === HAS_FAULT ? HAS_FIX : summary;
}

type Values = Map<string, unknown>;

function inputOf(device: Device, driver: string): Values {
  const attributes = byDomain(driver, device.attributes ?? {}, (value) => {
    if (value.bool !== undefined) return value.bool;
    if (value.int !== undefined) return BigInt(value.int);
    if (value.version !== undefined) return new CelVersion(value.version);
    return value.string ?? "";
  });
  const capacity = byDomain(driver, device.capacity ?? {}, ({ value }) => new CelQuantity(value));
  const { allowMultipleAllocations = false } = device;
  return new Map<string, unknown>([
    ["driver", driver],
    ["attributes", attributes],
    ["capacity", capacity],
    ["allowMultipleAllocations", allowMultipleAllocations],
  ]);
}

/** Names without a domain are of the driver's own; domains that a device has nothing of are empty. */
function byDomain<T>(
  driver: string,
  named: Readonly<Record<string, T>>,
  read: (value: T) => unknown,
): Map<string, Values> {
  const domains = new Map<string, Values>();
  for (const [name, value] of Object.entries(named)) {
    const at = name.indexOf("/");
    const domain = at < 0 ? driver : name.slice(0, at);
    const values = domains.get(domain) ?? new Map<string, unknown>();
    domains.set(domain, values.set(name.slice(at + 1), read(value)));
  }
  const known = domains.get.bind(domains);
  domains.get = (domain) => known(domain) ?? new Map();
  return domains;
}
