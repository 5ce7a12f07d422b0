/** Why there is no such folder here and none can be made; undefined when there is or can. */
export function debianObstacle(suite: string, packages: readonly string[]): string | undefined;
/** Folder with the suite's minimal system and `packages`; 3 minutes the first time, then never written to. */
export function debianRoot(suite: string, packages: readonly string[]): string;
