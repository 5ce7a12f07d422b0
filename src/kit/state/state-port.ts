/** File operations used; implemented by `Files` of the outside. */
export interface StatePort {
  readText(path: string, options: { readonly maxBytes: number }): Promise<string | undefined>;
  writeAtomic(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  append(
    path: string,
    text: string,
    mode: number,
    options?: { readonly sync?: boolean },
  ): Promise<void>;
  makeDirectory(path: string, mode: number): Promise<void>;
  list(
    path: string,
  ): Promise<readonly { readonly name: string; readonly kind: string }[] | undefined>;
  facts(
    path: string,
  ): Promise<
    { readonly kind: string; readonly sizeBytes: number; readonly modifiedMs: number } | undefined
  >;
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}
