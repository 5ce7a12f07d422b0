// pure
import { Signal } from "../../outside/cri/generated/api.ts";

/** Before every name in CRI. */
const PREFIX = "SIGNAL_";

/** A signal as the pod's spec spells it (`SIGRTMIN+3`) for CRI; an unknown one leaves it to the runtime. */
export function signalNumber(name: string | undefined): Signal {
  const spelled = `${PREFIX}${(name ?? "").replace("+", "PLUS").replace("-", "MINUS")}`;
  return Object.hasOwn(Signal, spelled)
    ? Signal[spelled as keyof typeof Signal]
    : Signal.SIGNAL_RUNTIME_DEFAULT;
}

/** Spelling of signals by number; the first of those that share one. */
const SPELLED: ReadonlyMap<number, string> = new Map(
  Object.entries(Signal)
    .toReversed()
    .map(([name, signal]) => [
      signal,
      name.slice(PREFIX.length).replace("PLUS", "+").replace("MINUS", "-"),
    ]),
);

/** A signal of CRI as statuses spell it; `undefined` when the runtime does not say. */
export function signalName(signal: Signal): string | undefined {
  return signal === Signal.SIGNAL_RUNTIME_DEFAULT ? undefined : SPELLED.get(signal);
}
