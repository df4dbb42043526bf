/** Records that stay in the browser: the sealed secret, uploads and queries on their way. */

import { PalladionError } from "./errors.js";

/** Records by name. */
export interface Store {
  get<T>(name: string): Promise<T | undefined>;
  put(name: string, record: unknown): Promise<void>;
  remove(name: string): Promise<void>;
}

const RECORDS = "records";

/** Records in the IndexedDB of this origin. */
export async function openStore(database = "palladion"): Promise<Store> {
  const opened = await result(() => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(RECORDS);
    return request;
  });
  const records = (mode: IDBTransactionMode) => opened.transaction(RECORDS, mode).objectStore(RECORDS);
  return {
    get: <T>(name: string) => result(() => records("readonly").get(name) as IDBRequest<T | undefined>),
    put: async (name, record) => void (await result(() => records("readwrite").put(record, name))),
    remove: async (name) => void (await result(() => records("readwrite").delete(name))),
  };
}

function result<T>(begin: () => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      const message = `the browser does not keep records for this page (${String(error)}): leave private browsing, or free some disk space`;
      reject(new PalladionError("io", message));
    };
    try {
      const request = begin();
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => fail(request.error);
    } catch (error) {
      fail(error);
    }
  });
}

/** Records that are gone with the process: for programs that keep them elsewhere, and for tests. */
export function memoryStore(): Store {
  const records = new Map<string, unknown>();
  return {
    get: async <T>(name: string) => records.get(name) as T | undefined,
    put: async (name, record) => void records.set(name, record),
    remove: async (name) => void records.delete(name),
  };
}
