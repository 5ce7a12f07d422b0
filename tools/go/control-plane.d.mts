/** Types of control-plane.mjs, which is plain JavaScript so that any Node can run it. */
export function apiServerObstacle(): string | undefined;
export interface ControlPlanePrograms {
  readonly apiserver: string;
  readonly etcd: string;
  readonly kubectl: string;
}
export function controlPlanePrograms(): ControlPlanePrograms;
