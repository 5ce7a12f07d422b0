export interface LockFile {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface LockEntry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export function withBroughtPackages(page: string, lock: LockFile): string;
export function broughtPackages(
  lock: LockFile,
): readonly { readonly name: string; readonly version: string; readonly by: readonly string[] }[];
