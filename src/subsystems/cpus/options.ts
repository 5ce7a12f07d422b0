// pure
/** What the static policy is asked for. */
import { parseBool } from "../../config/flags/go-numbers.ts";

/** Options of the static policy (`cpuManagerPolicyOptions`). */
export interface CpuOptions {
  /** Whole cores only (`full-pcpus-only`). */
  readonly fullCores: boolean;
  /** `distribute-cpus-across-numa` */
  readonly distributeNuma: boolean;
  /** `align-by-socket` */
  readonly alignSockets: boolean;
  /** `distribute-cpus-across-cores` */
  readonly spreadCores: boolean;
  /** Reserved CPUs are not in the shared pool (`strict-cpu-reservation`). */
  readonly strictReservation: boolean;
  /** `prefer-align-cpus-by-uncorecache` */
  readonly alignCaches: boolean;
}

/** The options of a configuration that was validated; what is not named is off. */
export function cpuOptionsOf(texts: Readonly<Record<string, string>>): CpuOptions {
  const isOn = (name: string) => {
    const parsed = parseBool(texts[name] ?? "false");
    return parsed.ok && parsed.value;
  };
  return {
    fullCores: isOn("full-pcpus-only"),
    distributeNuma: isOn("distribute-cpus-across-numa"),
    alignSockets: isOn("align-by-socket"),
    spreadCores: isOn("distribute-cpus-across-cores"),
    strictReservation: isOn("strict-cpu-reservation"),
    alignCaches: isOn("prefer-align-cpus-by-uncorecache"),
  };
}
