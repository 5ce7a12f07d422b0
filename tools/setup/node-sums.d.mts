export function nodeSum(version: string, processor: string): string;
export function sha256OfFile(path: string): string;
export function checkNodeBinary(path: string, version: string, processor: string): void;
