/** Types of build-apiserver.mjs, which is plain JavaScript so that any Node can run it. */
export function knownApiServer(): string | undefined;
export function apiServerObstacle(): string | undefined;
export interface ControlPlanePrograms {
  readonly apiserver: string;
  readonly etcd: string;
  readonly kubectl: string;
}
export function hasControlPlane(): boolean;
export function controlPlanePrograms(options?: {
  say?: (text: string) => void;
}): ControlPlanePrograms;
export function buildControlPlane(options?: {
  say?: (text: string) => void;
}): Promise<ControlPlanePrograms>;
