/** A test file, its path relative to the checkout. */
export interface TestFile {
  readonly path: string;
  readonly kind: string;
}
/** Groups of files, each for one process; `read` gives the text of a path. */
export function batches(files: readonly TestFile[], read?: (path: string) => string): TestFile[][];
/** Groups of files of the simulation, and each other file alone. */
export function simulationBatches(files: readonly TestFile[], cores: number): TestFile[][];
/** Why a test cannot share its process with others, or undefined. */
export function obstacleToSharing(
  path: string,
  read?: (path: string) => string,
): string | undefined;
