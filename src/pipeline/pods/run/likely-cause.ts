// pure
import type { Pod } from "../../../api/generated/types.ts";
import { fractionalAmounts } from "../../../api/validation/pod-warnings.ts";

/**
 * The message of a failed start, with what of the pod's own spec is the likely cause: of a memory limit of `128m`, which is a
 * part of a byte, a runtime only says that its process was killed.
 */
export function withLikelyCause(pod: Pod, message: string): string {
  const [first] = fractionalAmounts(pod);
  return first === undefined
    ? message
    : `${message} (${first}; "m" means thousandths, write 128Mi or 128M)`;
}
