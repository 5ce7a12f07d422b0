// pure
/** What the agent answers on its socket below `/nodelet/v1/`; see docs/server.md. */

/** `overview`: the node in figures. */
export interface Overview {
  readonly version: string;
  readonly node: string;
  readonly runtime: string;
}
