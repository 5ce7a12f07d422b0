// pure
import { counterOf, gaugeOf, histogramOf, named } from "./define.ts";

/** As Go computes them, with its rounding. */
const CALL_SECONDS = [
  0.1, 0.1534127404634391, 0.23535468936502524, 0.36106407876409946, 0.5539182980610752,
  0.849781240983936, 1.303672689737678, 1.9999999999999993, 3.0682548092687805, 4.7070937873005025,
  7.221281575281985, 11.078365961221499, 16.995624819678714, 26.07345379475354, 39.99999999999997,
] as const;
const DRIVER = ["driver_name"] as const;

/** Dynamic resource allocation. */
export const CLAIM_METRICS = named({
  dra_operations_duration_seconds: histogramOf(
    "ALPHA",
    "Time to prepare or unprepare all resource claims of a pod.",
    CALL_SECONDS,
    ["operation_name", "is_error"],
  ),
  dra_grpc_operations_duration_seconds: histogramOf(
    "ALPHA",
    "Time of the calls to drivers of dynamic resource allocation.",
    CALL_SECONDS,
    ["driver_name", "method_name", "grpc_status_code"],
  ),
  dra_resource_claims_in_use: gaugeOf(
    "ALPHA",
    "Resource claims that are prepared on the node, by driver; <any> for those of all drivers, each counted once.",
    DRIVER,
  ),
  dra_node_prepare_skips_total: counterOf(
    "ALPHA",
    "Calls to prepare a claim that were left out as its allocation says; stays 0, as such claims are not prepared.",
    DRIVER,
  ),
  dra_node_unprepare_skips_total: counterOf(
    "ALPHA",
    "Calls to unprepare a claim that were left out as its allocation says; stays 0.",
    DRIVER,
  ),
});
