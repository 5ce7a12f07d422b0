// pure
import { Signal } from "../../outside/cri/generated/api.ts";

/** A signal as the pod's spec spells it (`SIGRTMIN+3`) for CRI; an unknown one leaves it to the runtime. */
export function signalNumber(name: string | undefined): Signal {
  const spelled = (name ?? "").replace("+", "PLUS").replace("-", "MINUS");
  return Object.hasOwn(Signal, spelled)
    ? Signal[spelled as keyof typeof Signal]
    : Signal.RUNTIME_DEFAULT;
}

/** A signal of CRI as statuses spell it; `undefined` when the runtime does not say. */
export function signalName(signal: Signal): string | undefined {
  if (signal === Signal.RUNTIME_DEFAULT) return undefined;
  const found = Object.entries(Signal).find(([, value]) => value === signal)?.[0];
  return found?.replace("PLUS", "+").replace("MINUS", "-");
}
