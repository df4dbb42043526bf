/**
 * The file of evaluation keys between their making and their upload.
 *
 * It lies in the origin's private file system, so that hundreds of megabytes are on disk and survive
 * a reload of the page, or in memory where there is no such file system. The keys are public.
 */

import type { Bytes } from "./bytes.js";

/** Where a file of keys lies. */
export type Place = { readonly kind: "file"; readonly name: string } | { readonly kind: "memory"; readonly blob: Blob };

/** Receives a file of keys. */
export interface Sink {
  write(part: Bytes): void;
  close(): Place;
  /** Removes what was written. */
  drop(): Promise<void>;
}

/** In a worker: opens a file of this name, in place of an older one. */
export async function openSink(name: string): Promise<Sink> {
  try {
    const folder = await navigator.storage.getDirectory();
    const file = await folder.getFileHandle(name, { create: true });
    return fileSink(folder, name, await accessTo(file));
  } catch {
    return memorySink(); // Node, private browsing, or an old browser
  }
}

/** Synchronous access to a file, which only workers have. TypeScript's library for pages lacks it. */
interface Access {
  truncate(size: number): void;
  write(bytes: Bytes, options: { at: number }): number;
  flush(): void;
  close(): void;
}

function accessTo(file: FileSystemFileHandle): Promise<Access> {
  return (file as unknown as { createSyncAccessHandle(): Promise<Access> }).createSyncAccessHandle();
}

function fileSink(folder: FileSystemDirectoryHandle, name: string, access: Access): Sink {
  access.truncate(0);
  let at = 0;
  return {
    write(part) {
      const written = access.write(part, { at });
      if (written !== part.length) throw new DOMException("the file takes no more bytes", "QuotaExceededError");
      at += written;
    },
    close() {
      access.flush();
      access.close();
      return { kind: "file", name };
    },
    async drop() {
      access.close();
      await folder.removeEntry(name);
    },
  };
}

function memorySink(): Sink {
  const parts: Bytes[] = [];
  return {
    write: (part) => void parts.push(part),
    close: () => ({ kind: "memory", blob: new Blob(parts) }),
    drop: async () => void parts.splice(0),
  };
}

/** The bytes at a place, or null if they are gone. */
export async function fileAt(place: Place): Promise<Blob | null> {
  if (place.kind === "memory") return place.blob;
  try {
    const folder = await navigator.storage.getDirectory();
    return await (await folder.getFileHandle(place.name)).getFile();
  } catch {
    return null;
  }
}

/** Removes a file of keys, once the service has it. */
export async function removeFile(place: Place): Promise<void> {
  if (place.kind === "memory") return;
  try {
    const folder = await navigator.storage.getDirectory();
    await folder.removeEntry(place.name);
  } catch {
    // It is gone already.
  }
}
