/** Upload of a file of keys in parts, which goes on where it was left. */

import type { Bytes } from "./bytes.js";
import { PalladionError } from "./errors.js";
import type { Service } from "./service.js";

export interface UploadProgress {
  /** Bytes that the service has. */
  readonly done: number;
  readonly bytes: number;
}

/** Parts that are on their way at once. */
const AT_ONCE = 3;

/** Sends a file to a service, of which it takes the parts that the service lacks. */
export async function upload(
  service: Service,
  file: Blob,
  digest: string,
  onProgress: (progress: UploadProgress) => void,
  signal?: AbortSignal,
): Promise<void> {
  const state = await service.openUpload(digest, file.size, signal);
  const { upload: id, part_bytes: partBytes, missing } = state;
  if (state.complete) return onProgress({ done: file.size, bytes: file.size });
  if (id === undefined || partBytes === undefined || missing === undefined) {
    throw new PalladionError("internal", "the service opened an upload without saying its parts");
  }
  const length = (part: number) => Math.min(partBytes, file.size - part * partBytes);
  let done = file.size - missing.reduce((sum, part) => sum + length(part), 0);
  onProgress({ done, bytes: file.size });
  const waiting = [...missing];
  const failed = new AbortController();
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const send = async (): Promise<void> => {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      const slice = file.slice(part * partBytes, part * partBytes + length(part));
      await service.sendPart(id, part, new Uint8Array(await slice.arrayBuffer()) as Bytes, stop);
      done += length(part);
      onProgress({ done, bytes: file.size });
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, send));
  } catch (error) {
    failed.abort();
    throw error;
  }
  await service.completeUpload(id, signal);
}
