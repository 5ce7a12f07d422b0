// pure
/** A directory entry. */
export type FileKind = "file" | "directory" | "link" | "socket" | "other";

/** A name in a folder. */
export interface FileEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/** A name in a folder, and the size of what it names, in bytes. */
export interface SizedEntry extends FileEntry {
  readonly sizeBytes: number;
}

/** A change of the files in one folder. What is missing is removed or zipped already. */
export type FolderChange =
  | { readonly kind: "remove"; readonly name: string }
  /** Replaces what `to` names; a missing `from` is "notFound". */
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  /** Replaces a regular file by a gzipped copy, `<name>.gz`, called `<name>.tmp` on the way; a link is "precondition". */
  | { readonly kind: "zip"; readonly name: string };

/**
 * What the kernel reported of a name in a watched folder: that the name came, went or now stands for another file, or that the
 * file was changed.
 */
export interface FolderEvent {
  readonly kind: "entry" | "content";
  readonly name: string;
}

/** Facts of a name from the file system. */
export interface FileFacts {
  readonly kind: FileKind;
  readonly sizeBytes: number;
  /** Last change of the content, Unix milliseconds; programs can set it. */
  readonly modifiedMs: number;
  /** Differs when the name stands for another file, or anything of the file was changed: nobody can set it. */
  readonly version: string;
  /** Permission bits. */
  readonly mode: number;
  readonly groupId: number;
  /** Of kind "other": which device it is. */
  readonly device?: "character" | "block";
}
