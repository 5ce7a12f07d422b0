// pure
import type { PodRecord } from "./record/record.ts";

/** The verdict of admission on a new pod; `defer` retries later. */
export type AdmissionVerdict =
  | { readonly kind: "admit"; readonly rules: number }
  | {
      readonly kind: "reject";
      readonly rule: string;
      readonly reason: string;
      readonly message: string;
    }
  | {
      readonly kind: "defer";
      readonly rule: string;
      readonly reason: string;
      readonly message: string;
      readonly retryInMs: number;
    };

/** Asked once for every new pod, one at a time. `others` are the pods that hold or may hold resources. */
export type Admit = (
  candidate: PodRecord,
  others: readonly PodRecord[],
) => Promise<AdmissionVerdict>;
