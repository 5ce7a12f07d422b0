// pure
/**
 * Rules of the API for classes of devices, claims, their templates and slices (pkg/apis/resource/validation). What the allocator of
 * one node cannot do is refused here.
 */

import {
  duplicate,
  forbidden,
  invalid,
  required,
  tooLong,
  tooMany,
} from "../../api/decode/field-problem.ts";
import { isSame } from "../../api/decode/strategic-diff.ts";
import type {
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  DeviceSubRequest,
  DynamicResourceClaim,
  ExactDeviceRequest,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../../api/generated/types.ts";
import { byteLength, dns1123LabelFaults } from "../../api/text/names.ts";
import { FINE, faultsAt, type Problems } from "../../api/validation/fields.ts";
import { type ApiObject, as } from "../api-object.ts";
import { MAX_EXPRESSION_BYTES, selectorFault } from "../devices/device-selector.ts";
import type { KindRules } from "../kind.ts";

const MAX_SELECTORS = 32;
const MAX_REQUESTS = 32;
const MAX_DEVICES = 128;
const IMMUTABLE = "field is immutable";
const ADMIN = "access for administration is not given by the API of a single node; leave it out";
const CAPACITY =
  "devices are allocated whole by the API of a single node; choose by device.capacity in a selector";
const MODES = ["ExactCount", "All"];

/** Rules for classes. */
export const DEVICE_CLASS_RULES: KindRules = {
  validate: (object) => selectorProblems(as<DeviceClass>(object).spec.selectors, "spec.selectors"),
  warn: (object) => {
    const { extendedResourceName } = as<DeviceClass>(object).spec;
    if (extendedResourceName === undefined) return [];
    return [
      `spec.extendedResourceName: this API allocates devices to claims only; a pod that requests ${extendedResourceName} waits for a device plugin`,
    ];
  },
};

/** Rules for claims. */
export const RESOURCE_CLAIM_RULES: KindRules = {
  complete: (object) => withSpec(object, completeSpec(as<DynamicResourceClaim>(object).spec)),
  begin: (object) => ({ ...object, status: {} }),
  validate: (object) => specProblems(as<DynamicResourceClaim>(object).spec, "spec"),
  validateChange: (now, before) => sameSpec(now, before),
};

/** Rules for templates of claims. */
export const RESOURCE_CLAIM_TEMPLATE_RULES: KindRules = {
  complete: (object) => {
    const { spec } = as<ResourceClaimTemplate>(object);
    return withSpec(object, { ...spec, spec: completeSpec(spec.spec) });
  },
  validate: (object) => specProblems(as<ResourceClaimTemplate>(object).spec.spec, "spec.spec"),
  validateChange: (now, before) => sameSpec(now, before),
};

/** Rules for slices. */
export const RESOURCE_SLICE_RULES: KindRules = {
  validate: (object) => {
    const { driver, pool, devices = [] } = as<ResourceSlice>(object).spec;
    const names = devices.map(({ name }) => name);
    return [
      ...(driver === "" ? [required("spec.driver")] : FINE),
      ...(pool.name === "" ? [required("spec.pool.name")] : FINE),
      ...(pool.resourceSliceCount > 0
        ? FINE
        : [
            invalid(
              "spec.pool.resourceSliceCount",
              pool.resourceSliceCount,
              "must be greater than zero",
            ),
          ]),
      ...(names.length > MAX_DEVICES ? [tooMany("spec.devices", names.length, MAX_DEVICES)] : FINE),
      ...names.flatMap((name, i) => nameProblems(name, names, `spec.devices[${i}].name`)),
    ];
  },
  validateChange: (now, before) => {
    const [fresh, old] = [as<ResourceSlice>(now).spec, as<ResourceSlice>(before).spec];
    return [
      ...(fresh.driver === old.driver ? FINE : [invalid("spec.driver", fresh.driver, IMMUTABLE)]),
      ...(fresh.nodeName === old.nodeName
        ? FINE
        : [invalid("spec.nodeName", fresh.nodeName ?? "", IMMUTABLE)]),
      ...(fresh.pool.name === old.pool.name
        ? FINE
        : [invalid("spec.pool.name", fresh.pool.name, IMMUTABLE)]),
    ];
  },
};

const withSpec = (object: ApiObject, spec: object): ApiObject => ({ ...object, spec });

function sameSpec(now: ApiObject, before: ApiObject): Problems {
  return isSame(now["spec"], before["spec"]) ? FINE : [invalid("spec", now["spec"], IMMUTABLE)];
}

/** One device where nothing else is said. */
function completeSpec(spec: ResourceClaimSpec): ResourceClaimSpec {
  const requests = spec.devices?.requests;
  if (!requests) return spec;
  return {
    ...spec,
    devices: {
      ...spec.devices,
      requests: requests.map((request) => ({
        ...request,
        ...(request.exactly ? { exactly: counted(request.exactly) } : {}),
        ...(request.firstAvailable
          ? { firstAvailable: request.firstAvailable.map((each) => counted(each)) }
          : {}),
      })),
    },
  };
}

function counted<T extends ExactDeviceRequest | DeviceSubRequest>(request: T): T {
  const { allocationMode = "ExactCount", count } = request;
  const number = count ?? (allocationMode === "ExactCount" ? 1 : undefined);
  return { ...request, allocationMode, ...(number === undefined ? {} : { count: number }) };
}

function specProblems({ devices }: ResourceClaimSpec, at: string): Problems {
  const { requests = [], constraints = [] } = devices ?? {};
  const path = `${at}.devices.requests`;
  const names = requests.map(({ name }) => name);
  return [
    ...(names.length > MAX_REQUESTS ? [tooMany(path, names.length, MAX_REQUESTS)] : FINE),
    ...requests.flatMap((request, i) => [
      ...nameProblems(request.name, names, `${path}[${i}].name`),
      ...requestProblems(request, `${path}[${i}]`),
    ]),
    ...constraints.flatMap(({ requests: of = [] }, i) =>
      of
        .filter((name) => !names.includes(name.split("/")[0] ?? ""))
        .map((name) =>
          invalid(
            `${at}.devices.constraints[${i}].requests`,
            name,
            "must be the name of a request in the claim",
          ),
        ),
    ),
  ];
}

function requestProblems({ exactly, firstAvailable }: DeviceRequest, path: string): Problems {
  if (exactly && firstAvailable)
    return [invalid(path, "", "exactly one of `exactly` or `firstAvailable` is required")];
  if (exactly) return wantedProblems(exactly, `${path}.exactly`);
  const ways = firstAvailable ?? [];
  if (ways.length === 0)
    return [required(path, "exactly one of `exactly` or `firstAvailable` is required")];
  const names = ways.map(({ name }) => name);
  return ways.flatMap((way, i) => [
    ...nameProblems(way.name, names, `${path}.firstAvailable[${i}].name`),
    ...wantedProblems(way, `${path}.firstAvailable[${i}]`),
  ]);
}

function wantedProblems(wanted: ExactDeviceRequest | DeviceSubRequest, path: string): Problems {
  const { deviceClassName, allocationMode = "", count, selectors, capacity } = wanted;
  const isAll = allocationMode === "All";
  return [
    ...(deviceClassName === "" ? [required(`${path}.deviceClassName`)] : FINE),
    ...(MODES.includes(allocationMode)
      ? FINE
      : [invalid(`${path}.allocationMode`, allocationMode, `must be one of ${MODES.join(", ")}`)]),
    ...(isAll && count !== undefined
      ? [invalid(`${path}.count`, count, 'must not be specified when allocationMode is "All"')]
      : FINE),
    ...(!isAll && (count ?? 0) < 1
      ? [invalid(`${path}.count`, count ?? 0, "must be greater than zero")]
      : FINE),
    ...("adminAccess" in wanted && wanted.adminAccess === true
      ? [forbidden(`${path}.adminAccess`, ADMIN)]
      : FINE),
    ...(capacity === undefined ? FINE : [forbidden(`${path}.capacity`, CAPACITY)]),
    ...selectorProblems(selectors, `${path}.selectors`),
  ];
}

function selectorProblems(selectors: readonly DeviceSelector[] = [], path: string): Problems {
  return [
    ...(selectors.length > MAX_SELECTORS ? [tooMany(path, selectors.length, MAX_SELECTORS)] : FINE),
    ...selectors.flatMap(({ cel }, i) => {
      const at = `${path}[${i}].cel`;
      if (!cel) return [required(at)];
      const { expression } = cel;
      if (byteLength(expression) > MAX_EXPRESSION_BYTES)
        return [tooLong(`${at}.expression`, MAX_EXPRESSION_BYTES)];
      const fault = selectorFault(expression);
      return fault === undefined ? FINE : [invalid(`${at}.expression`, expression, fault)];
    }),
  ];
}

function nameProblems(name: string, names: readonly string[], path: string): Problems {
  const isRepeated = names.filter((each) => each === name).length > 1;
  return [
    ...faultsAt(path, name, dns1123LabelFaults(name)),
    ...(isRepeated ? [duplicate(path, name)] : FINE),
  ];
}
