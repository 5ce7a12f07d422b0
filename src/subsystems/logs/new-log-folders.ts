// pure

/** Folders that are known; the oldest are forgotten, and are listed again. */
const MAX_FOLDERS = 1_000;

/**
 * Folders of pods' logs that this agent has made. The first attempt of each container finds no log in one, so that it need
 * not be listed.
 */
export class NewLogFolders {
  /** Containers that have had an attempt since, by UID of the pod. */
  readonly #attempted = new Map<string, Set<string>>();

  /** The folder of the pod was missing and has been made. */
  made(uid: string): void {
    this.#attempted.set(uid, new Set());
    for (const oldest of this.#attempted.keys()) {
      if (this.#attempted.size <= MAX_FOLDERS) break;
      this.#attempted.delete(oldest);
    }
  }

  /** Forgets a folder that was removed, or whose contents are no longer known. */
  forget(uid: string): void {
    this.#attempted.delete(uid);
  }

  /** Whether the container has no log yet; answered with yes once, for the attempt that then begins leaves one. */
  takeEmpty(uid: string, container: string): boolean {
    const attempted = this.#attempted.get(uid);
    if (!attempted || attempted.has(container)) return false;
    attempted.add(container);
    return true;
  }
}
