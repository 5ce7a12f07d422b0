import type { FolderEvent } from "../../src/outside/host/host.ts";
import { normal } from "./fake-file-nodes.ts";

/** Who is notified of changes in a folder, and what was reported since. */
interface Watch {
  readonly path: string;
  readonly onChange: (events: readonly FolderEvent[]) => void;
  events: FolderEvent[];
  pending: boolean;
}

/** The folders that are watched. */
interface Folders {
  readonly isThere: (path: string) => boolean;
  readonly make: (path: string) => void;
}

/** Watches of folders in memory; changes are reported in microtasks. */
export class FakeWatches {
  readonly #folders: Folders;
  readonly #watches = new Set<Watch>();

  constructor(folders: Folders) {
    this.#folders = folders;
  }

  watch(path: string, onChange: Watch["onChange"], signal: AbortSignal): void {
    if (signal.aborted) return;
    const watch: Watch = { path: normal(path), onChange, events: [], pending: false };
    this.#watches.add(watch);
    signal.addEventListener("abort", () => this.#watches.delete(watch), { once: true });
    this.#notify(watch);
  }

  /** Word to those who watch the folder, or something that may be gone with it. */
  changed(folder: string, events: readonly FolderEvent[]): void {
    const changed = normal(folder);
    for (const watch of this.#watches) {
      const isBeneath = watch.path.startsWith(changed === "/" ? "/" : `${changed}/`);
      const isGone = isBeneath && !this.#folders.isThere(watch.path);
      if (watch.path === changed) watch.events.push(...events);
      if (watch.path === changed || isGone) this.#notify(watch);
    }
  }

  #notify(watch: Watch): void {
    if (watch.pending) return;
    watch.pending = true;
    queueMicrotask(() => {
      watch.pending = false;
      if (!this.#watches.has(watch)) return;
      if (!this.#folders.isThere(watch.path)) this.#folders.make(watch.path);
      watch.onChange(watch.events.splice(0));
    });
  }
}
