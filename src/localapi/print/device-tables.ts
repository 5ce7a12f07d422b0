// pure
/** Tables of classes of devices, claims and slices (printers.go). */
import type { DynamicResourceClaim, ResourceSlice } from "../../api/generated/types.ts";
import { type ApiObject, as } from "../api-object.ts";
import type { ObjectTable } from "../kind.ts";
import { AGE, ageOf, column, NAME, orNone } from "./cells.ts";

/** `kubectl get deviceclasses` and `resourceclaimtemplates`. */
export const NAME_AND_AGE_TABLE: ObjectTable = {
  columns: [NAME, AGE],
  cells: (object, now) => [object.metadata.name, ageOf(object, now)],
};

/** `kubectl get resourceclaims`. */
export const RESOURCE_CLAIM_TABLE: ObjectTable = {
  columns: [NAME, column("State"), AGE],
  cells: (object, now) => [object.metadata.name, stateOf(object), ageOf(object, now)],
};

function stateOf(object: ApiObject): string {
  const { metadata, status } = as<DynamicResourceClaim>(object);
  const states = [
    ...(metadata?.deletionTimestamp === undefined ? [] : ["deleted"]),
    ...(status?.allocation ? ["allocated"] : []),
    ...((status?.reservedFor ?? []).length > 0 ? ["reserved"] : []),
  ];
  return states.length === 0 ? "pending" : states.join(",");
}

/** `kubectl get resourceslices`. */
export const RESOURCE_SLICE_TABLE: ObjectTable = {
  columns: [NAME, column("Node"), column("Driver"), column("Pool"), AGE],
  cells: (object, now) => {
    const { driver, nodeName, pool } = as<ResourceSlice>(object).spec;
    return [object.metadata.name, orNone(nodeName), driver, pool.name, ageOf(object, now)];
  },
};
