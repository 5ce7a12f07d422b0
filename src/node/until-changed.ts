import { onAbort } from "../kit/on-abort.ts";

/** Something whose changes can be followed. */
interface ChangeSource {
  subscribe(onChange: () => void): () => void;
}

/** Resolves when `test` holds; asks again with every change. Rejects with the signal's reason. */
export function untilChanged(
  source: ChangeSource,
  signal: AbortSignal,
  test: () => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const settle = (finish: () => void) => {
      stop();
      forget();
      finish();
    };
    const forget = onAbort(signal, () => settle(() => reject(signal.reason as Error)));
    const stop = source.subscribe(() => {
      if (test()) settle(resolve);
    });
    if (test()) settle(resolve);
  });
}
