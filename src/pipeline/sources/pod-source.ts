// pure
import type { Pod } from "../../api/generated/types.ts";

/** Receives the desired pods of a source. */
export interface PodSink {
  /**
   * This pod, with a UID of its own, shall run as its spec says; reported again, its spec may have changed.
   * With `metadata.deletionTimestamp` it shall end, and stay known until it is dropped.
   */
  setDesired(pod: Pod): void;
  /**
   * The pod of this UID shall be ended, and nothing of it be left. `graceSeconds` in place of the grace
   * of its spec.
   */
  drop(uid: string, graceSeconds?: number): void;
  /** The source's initial state is complete. Until then the agent terminates nothing. */
  synced(): void;
}

/** A place that names pods: the API server, or a program that embeds the agent. */
export interface PodSource {
  /** For messages. */
  readonly name: string;
  /** Its pods may have fields of a later API, which are ignored with a warning; elsewhere they are refused. */
  readonly mayBeLater?: boolean;
  /** Reports desired pods until `signal` is aborted; restarted when it throws. */
  follow(sink: PodSink, signal: AbortSignal): Promise<void>;
}
